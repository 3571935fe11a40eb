package toolbox

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/ports"
)

const weather = `{"type":"object","properties":{"degrees":{"type":"number"},"sky":{"enum":["clear","grey"]}},"required":["degrees"]}`

func TestAResultThatBreaksItsSchemaIsToldWithWhatItSays(t *testing.T) {
	for name, test := range map[string]struct {
		schema, structured string
		isError            bool
		outcome            ports.CallOutcome
		says               []string
	}{
		"fits":               {weather, `{"degrees":7.5,"sky":"grey"}`, false, ports.CallOK, nil},
		"wrong type":         {weather, `{"degrees":"7"}`, false, ports.CallProtocol, []string{"The tool ran", "at /degrees", "text of it"}},
		"missing member":     {weather, `{"sky":"green"}`, false, ports.CallProtocol, []string{"degrees", "at /sky"}},
		"no object":          {weather, `[1]`, false, ports.CallProtocol, []string{"object"}},
		"forgotten":          {weather, ``, false, ports.CallOK, nil},
		"failed":             {weather, `{"error":"no such place"}`, true, ports.CallToolError, []string{"no such place"}},
		"list":               {`{"type":"array","items":{"type":"integer"}}`, `[1,2,"3"]`, false, ports.CallProtocol, []string{"at /2"}},
		"scalar":             {`{"type":"string","minLength":2}`, `"ab"`, false, ports.CallOK, nil},
		"bad scalar":         {`{"type":"string","minLength":2}`, `"a"`, false, ports.CallProtocol, []string{"minLength"}},
		"2020-12":            {`{"prefixItems":[{"type":"integer"}],"items":false}`, `[1,2]`, false, ports.CallProtocol, []string{"at /1"}},
		"draft-07":           {`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}],"additionalItems":false}`, `[1,2]`, false, ports.CallProtocol, []string{"additionalItem"}},
		"unknown dialect":    {`{"$schema":"https://example.com/mine","type":"string"}`, `1`, false, ports.CallOK, nil},
		"does not compile":   {`{"type":"strnig"}`, `1`, false, ports.CallOK, nil},
		"file":               {`{"$ref":"file:///etc/hostname"}`, `1`, false, ports.CallOK, nil},
		"too long":           {`{"maxItems":1}`, `[` + strings.Repeat("1,", valueMax/2) + `1]`, false, ports.CallOK, nil},
		"no schema":          {``, `{"degrees":"7"}`, false, ports.CallOK, nil},
		"recursive, shallow": {`{"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false}`, `{"next":{"next":{"nxt":1}}}`, false, ports.CallProtocol, []string{"at /next/next", "nxt"}},
	} {
		w := newTrial(t, Config{}, test.schema, ports.ToolResult{Content: []ports.Block{words("text of it")}, Structured: json.RawMessage(test.structured), IsError: test.isError})
		got := w.call()
		if got.Outcome != test.outcome {
			t.Errorf("%s: the outcome is %s, want %s: %.300s", name, got.Outcome, test.outcome, got.Text)
		}
		for _, says := range test.says {
			if !strings.Contains(got.Text, says) {
				t.Errorf("%s: the model reads %q, want %q in it", name, got.Text, says)
			}
		}
		if !strings.Contains(got.Text, "text of it") || string(got.Structured) != test.structured || len(got.Content) != 1 {
			t.Errorf("%s: something of the result is lost: %.300q", name, got.Text)
		}
		if forgotten := test.schema != "" && test.structured == ""; strings.Contains(w.logs.String(), "structured_content_missing") != forgotten {
			t.Errorf("%s: the log says %s", name, w.logs.String())
		}
	}
}
