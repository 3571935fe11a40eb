package toolschema

import (
	"fmt"
	"strings"
	"testing"
)

// The core reckons with the size of a schema as its server wrote it: a small one
// that refers to itself again and again must not become a large one on the wire.
func TestASchemaDoesNotGrowBeyondWhatIsReckonedWith(t *testing.T) {
	var defs []string
	for i := range 9 {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		if i == 8 {
			next = `{"type":"string"}`
		}
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":%s,"b":%s,"c":%s}}`, i, next, next, next))
	}
	bomb := `{"type":"object","properties":{"r":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	for _, p := range []Profile{ForOpenAI, ForAnthropic, ForGemini} {
		got := Project(p, []byte(bomb))
		if len(got.Schema) > growsBy*len(bomb)+growsFree {
			t.Errorf("profile %v makes %d bytes of %d", p, len(got.Schema), len(bomb))
		}
		if !strings.Contains(string(got.Schema), `"r"`) {
			t.Errorf("profile %v leaves nothing: %s", p, got.Schema)
		}
	}
}
