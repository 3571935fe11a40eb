package toolschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestWhatIsLargeInOnePlaceIsNotPaidForInAll has schemas that refer thousands of
// times to something that costs much to look at.
func TestWhatIsLargeInOnePlaceIsNotPaidForInAll(t *testing.T) {
	many := func(n int, format string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return strings.Join(all, ",")
	}
	var refs []string
	for i := range 3000 {
		refs = append(refs, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/L"}`, i))
	}
	everywhere := strings.Join(refs, ",")
	for name, large := range map[string]string{
		"required":          `{"type":"object","required":[` + many(30_000, `"n#"`) + `]}`,
		"types":             `{"type":[` + many(30_000, `"t#"`) + `]}`,
		"enum":              `{"enum":[` + many(30_000, `"v#"`) + `]}`,
		"values":            `{"default":[` + many(45_000, `#`) + `]}`,
		"text":              `{"description":"` + strings.Repeat("ü", 125_000) + `"}`,
		"number":            `{"minLength":` + strings.Repeat("9", 200_000) + `,"minimum":` + strings.Repeat("9", 100_000) + `}`,
		"properties":        `{"properties":{` + many(20_000, `"n#":1`) + `}}`,
		"alternatives":      `{"anyOf":[` + many(45_000, `#`) + `]}`,
		"real alternatives": `{"anyOf":[` + many(15_000, `{"const":#}`) + `]}`,
		"keywords":          `{` + many(25_000, `"x#":1`) + `}`,
		"patterns":          `{"patternProperties":{` + many(20_000, `"^n#$":1`) + `}}`,
		"conditions":        `{"dependentRequired":{` + many(15_000, `"n#":["a"]`) + `}}`,
		"references":        `{"allOf":[` + many(10_000, `{"$ref":"#d"}`) + `]}`,
		"itself":            `{"anyOf":[{"$ref":"#/$defs/L"},` + many(300, `{"properties":{"n#":{"$ref":"#/$defs/L"}}}`) + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, rest := range []string{
				`"properties":{` + everywhere + `}`,
				`"oneOf":[` + strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/L"},`, 3000), ",") + `]`,
			} {
				in := `{"$defs":{"L":` + large + `},` + rest + `}`
				if !json.Valid([]byte(in)) || len(in) > maxInput {
					t.Fatalf("%d bytes, or no JSON", len(in))
				}
				for _, p := range []Profile{ForOpenAI, ForAnthropic, ForGemini} {
					start := time.Now()
					out := Project(p, json.RawMessage(in))
					if took := time.Since(start); took > 30*time.Second || len(out.Schema) > maxBytes {
						t.Errorf("profile %d: %d bytes in %v", p, len(out.Schema), took)
					}
				}
			}
		})
	}
}
