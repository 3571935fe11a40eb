package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// TestOneMalformedToolAmongGoodOnesIsLeftOut in each way that has been seen, and
// in some that have not, wherever in the list it stands.
func TestOneMalformedToolAmongGoodOnesIsLeftOut(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for name, test := range map[string]struct{ tool, says string }{
		"no name":                {`{"inputSchema":{"type":"object"}}`, "no name"},
		"empty name":             {`{"name":"","inputSchema":{"type":"object"}}`, "no name"},
		"null name":              {`{"name":null,"inputSchema":{"type":"object"}}`, "no name"},
		"number for a name":      {`{"name":7,"inputSchema":{"type":"object"}}`, "no name"},
		"object for a name":      {`{"name":{"a":1},"inputSchema":{"type":"object"}}`, "no name"},
		"endless name":           {`{"name":"` + strings.Repeat("x", 1000) + `","inputSchema":{"type":"object"}}`, "longer than"},
		"control characters":     {`{"name":"a\u001b[31m\nb","inputSchema":{"type":"object"}}`, "control characters"},
		"name that is there":     {`{"name":"one","inputSchema":{"type":"object"},"description":"another"}`, "two of that name"},
		"schema true":            {`{"name":"bad","inputSchema":true}`, "bad: its inputSchema"},
		"schema a text":          {`{"name":"bad","inputSchema":"{}"}`, "bad: its inputSchema"},
		"schema a list":          {`{"name":"bad","inputSchema":[]}`, "bad: its inputSchema"},
		"schema of a string":     {`{"name":"bad","inputSchema":{"type":"string"}}`, "bad: its inputSchema"},
		"type a number":          {`{"name":"bad","inputSchema":{"type":1}}`, "bad: its inputSchema"},
		"types without object":   {`{"name":"bad","inputSchema":{"type":["array","null"]}}`, "bad: its inputSchema"},
		"properties a list":      {`{"name":"bad","inputSchema":{"properties":["a"]}}`, "bad: properties"},
		"properties a text":      {`{"name":"bad","inputSchema":{"properties":"a"}}`, "bad: properties"},
		"required a text":        {`{"name":"bad","inputSchema":{"required":"x"}}`, "bad: required"},
		"required with a number": {`{"name":"bad","inputSchema":{"required":[1]}}`, "bad: required"},
		"a text":                 {`"bad"`, "tool 2"},
		"a list":                 {`[]`, "tool 2"},
		"null":                   {`null`, "tool 2"},
		"depth alone":            {deep, "tool 2"},
	} {
		tools := []string{`{"name":"one","inputSchema":{"type":"object"}}`, test.tool, `{"name":"two"}`, `{"name":"three","inputSchema":{"type":"object"},"annotations":7,"title":[],"_meta":"x"}`}
		got := new(listing)
		got.seen = map[string]bool{}
		if _, err := got.page(json.RawMessage(`{"tools":[`+strings.Join(tools, ",")+`]}`), wanted{maxBytes: 1 << 20}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var names []string
		for _, d := range got.tools {
			names = append(names, d.Spec.Name)
		}
		if want := []string{"one", "two", "three"}; !slices.Equal(names, want) || got.tools[0].Spec.Description != "" {
			t.Errorf("%s: the tools are %q, want %q", name, names, want)
		}
		if note := got.note(); !strings.Contains(note, "1 malformed tools left out") || !strings.Contains(note, test.says) || strings.ContainsAny(note, "\x1b\n") {
			t.Errorf("%s: the state says %q, want %q in it", name, note, test.says)
		}
	}
}
