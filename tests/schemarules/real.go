package schemarules

import (
	_ "embed"
	"encoding/json"
)

// Tool is a tool as a server defines it. The schema of a nasty one may be no JSON.
type Tool struct {
	Server      string          `json:"server"`
	Name        string          `json:"name"` // of a nasty one: what is nasty in it
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

//go:embed testdata/real.json
var recorded []byte

// Real are the tools of servers that nobody here wrote, as they were recorded:
// each with the server's package and version.
func Real() ([]Tool, error) {
	var tools []Tool
	if err := json.Unmarshal(recorded, &tools); err != nil {
		return nil, err
	}
	return tools, nil
}
