package toolschema

import "encoding/json"

// Envelope is a wire's form of a tool around its projected schema: what it
// returns is encoded as JSON, and must be an object. The schema may be nil, see
// Projection.
type Envelope func(name, description string, schema json.RawMessage) any

// Chat is the form of POST chat/completions.
func Chat(name, description string, schema json.RawMessage) any {
	return chatTool{Type: "function", Function: chatFunction{Name: name, Description: description, Parameters: schema}}
}

// Responses is the form of POST responses. It must say that it is not strict:
// that wire's default is strict mode, which few schemas of others satisfy.
func Responses(name, description string, schema json.RawMessage) any {
	return responsesTool{Type: "function", Name: name, Description: description, Parameters: schema}
}

// Anthropic is the form of POST messages.
func Anthropic(name, description string, schema json.RawMessage) any {
	return anthropicTool{Name: name, Description: description, InputSchema: schema}
}

type chatTool struct {
	Function chatFunction `json:"function"`
	Type     string       `json:"type"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}
