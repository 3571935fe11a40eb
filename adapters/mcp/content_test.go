package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"dragoman/ports"
)

func TestDecodeResult(t *testing.T) {
	plain := func(s string) []ports.Block { return []ports.Block{{Kind: ports.BlockText, Text: s}} }
	for name, test := range map[string]struct {
		raw  string
		want ports.ToolResult
	}{
		"text":       {`{"content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`, ports.ToolResult{Content: append(plain("a"), plain("")...)}},
		"empty":      {`{"content":[]}`, ports.ToolResult{Content: []ports.Block{}}},
		"error":      {`{"content":[{"type":"text","text":"a"}],"isError":true}`, ports.ToolResult{Content: plain("a"), IsError: true}},
		"error word": {`{"content":[],"isError":"true"}`, ports.ToolResult{Content: []ports.Block{}, IsError: true}},
		"image":      {`{"content":[{"type":"image","mimeType":"image/png","data":"AQI="}]}`, ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockImage, MIME: "image/png", Data: []byte{1, 2}}}}},
		"unpadded":   {`{"content":[{"type":"audio","mimeType":"audio/wav","data":"AQI"}]}`, ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockAudio, MIME: "audio/wav", Data: []byte{1, 2}}}}},
		"no base64":  {`{"content":[{"type":"image","mimeType":"image/png","data":"!"}]}`, ports.ToolResult{Content: plain("[image image/png whose data is not valid base64]")}},
		"text resource": {`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"t"}}]}`,
			ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockResource, URI: "file:///a", MIME: "text/plain", Text: "t"}}}},
		"blob": {`{"content":[{"type":"resource","resource":{"uri":"file:///a","blob":"AQI="}}]}`,
			ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockResource, URI: "file:///a", Data: []byte{1, 2}}}}},
		"link": {`{"content":[{"type":"resource_link","uri":"file:///a","name":"a","description":"d","mimeType":"text/plain"}]}`,
			ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockLink, URI: "file:///a", Name: "a", Text: "d", MIME: "text/plain"}}}},
		"odd annotation": {`{"content":[{"type":"text","text":"a","annotations":{"priority":"high"}}]}`, ports.ToolResult{Content: plain("a")}},
		"unknown kind":   {`{"content":[{"type":"hologram", "depth":3}]}`, ports.ToolResult{Content: plain(`{"type":"hologram","depth":3}`)}},
		"text as number": {`{"content":[{"type":"text","text":7}]}`, ports.ToolResult{Content: plain(`{"type":"text","text":7}`)}},
		"bare resource":  {`{"content":[{"type":"resource"}]}`, ports.ToolResult{Content: plain(`{"type":"resource"}`)}},
		"content string": {`{"content":"just text"}`, ports.ToolResult{Content: plain("just text")}},
		"content object": {`{"content":{"type":"text","text":"a"}}`, ports.ToolResult{Content: plain("a")}},
		"structured alone": {`{"structuredContent":{"a": 1}}`,
			ports.ToolResult{Content: plain(`{"a":1}`), Structured: json.RawMessage(`{"a": 1}`)}},
		"structured beside": {`{"content":[{"type":"text","text":"one"}],"structuredContent":[1]}`,
			ports.ToolResult{Content: plain("one"), Structured: json.RawMessage(`[1]`)}},
		"complete": {`{"resultType":"complete","content":[]}`, ports.ToolResult{Content: []ports.Block{}}},
	} {
		got, err := decodeResult(json.RawMessage(test.raw))
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s gives\n%+v, %v; want\n%+v", name, got, err, test.want)
		}
	}
}

func FuzzDecodeResult(f *testing.F) {
	for _, seed := range []string{
		`{"content":[{"type":"text","text":"a"}],"isError":false}`, `{"structuredContent":null}`, `{"content":[[]]}`,
		`{"content":[{"type":"resource","resource":{"uri":"u","blob":"AQI="}}]}`, `{"content":{"type":"image","data":"="}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			t.Skip()
		}
		r, err := decodeResult(json.RawMessage(raw))
		if err != nil {
			if !ports.IsKind(wrap("x", err), ports.KindProtocol) {
				t.Errorf("%v is not KindProtocol", err)
			}
			return
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("the result cannot be stored: %v", err)
		}
		for _, b := range r.Content {
			if b.Kind == "" {
				t.Errorf("a block without kind in %+v", r)
			}
		}
	})
}

func FuzzDecodeTool(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","inputSchema":{"type":"object","properties":[]}}`, `{"name":"a"}`, `{"name":"a","annotations":[]}`, `[]`, `null`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		spec, err := decodeTool(json.RawMessage(raw), true)
		if err == nil && (spec.Name == "" || !isObject(spec.InputSchema) || !json.Valid(spec.InputSchema)) {
			t.Errorf("%s gives %+v", raw, spec)
		}
	})
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	read := func(max int, cut bool, text string) (lines []string, err error) {
		r := newLineReader(strings.NewReader(text), max, cut)
		for {
			line, err := r.next()
			if err != nil {
				return lines, err
			}
			lines = append(lines, string(line))
		}
	}
	lines, err := read(100_000, false, "a\r\n\n"+long+"\nhalf")
	if want := []string{"a", "", long, "half"}; !reflect.DeepEqual(lines, want) || err.Error() != "EOF" {
		t.Errorf("got %d lines and %v", len(lines), err)
	}
	if lines, err := read(99_999, false, "a\n"+long+"\nb\n"); len(lines) != 1 || err != errLineTooLong {
		t.Errorf("a line of one byte too many gives %d lines and %v", len(lines), err)
	}
	lines, err = read(10, true, "a\n"+long+"\nb\n")
	if want := []string{"a", "xxxxxxxxxx", "b"}; !reflect.DeepEqual(lines, want) || err.Error() != "EOF" {
		t.Errorf("cut lines are %q, %v", lines, err)
	}
}

func TestClip(t *testing.T) {
	for _, test := range []struct {
		in   string
		max  int
		want string
	}{
		{"plain", 10, "plain"}, {"a\nb\x1b[31m", 20, "a b [31m"}, {"äöü", 3, "ä…"}, {"äöü", 4, "äö…"}, {"\xff", 4, "\uFFFD"}, {"abc", 2, "ab…"},
	} {
		if got := clip(test.in, test.max); got != test.want {
			t.Errorf("clip(%q, %d) = %q, want %q", test.in, test.max, got, test.want)
		}
	}
}
