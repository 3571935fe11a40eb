package mcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

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
		"error word": {`{"content":[],"isError":"true"}`, ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: failedSilently}}, IsError: true}},
		"bare error": {`{"isError":true}`, ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: failedSilently}}, IsError: true}},
		"image":      {`{"content":[{"type":"image","mimeType":"image/png","data":"AQI="}]}`, ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockImage, MIME: "image/png", Data: []byte{1, 2}}}}},
		"unpadded":   {`{"content":[{"type":"audio","mimeType":"audio/wav","data":"AQI"}]}`, ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockAudio, MIME: "audio/wav", Data: []byte{1, 2}}}}},
		"no base64":  {`{"content":[{"type":"image","mimeType":"image/png","data":"!"}]}`, ports.ToolResult{Content: plain("[image image/png whose data is not valid base64]")}},
		"text resource": {`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"t"}}]}`,
			ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockResource, URI: "file:///a", MIME: "text/plain", Text: "t"}}}},
		"blob": {`{"content":[{"type":"resource","resource":{"uri":"file:///a","blob":"AQI="}}]}`,
			ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockResource, URI: "file:///a", Data: []byte{1, 2}}}}},
		"link": {`{"content":[{"type":"resource_link","uri":"file:///a","name":"a","description":"d","mimeType":"text/plain"}]}`,
			ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockLink, URI: "file:///a", Name: "a", Text: "d", MIME: "text/plain"}}}},
		"link with size": {`{"content":[{"type":"resource_link","uri":"file:///a","name":"a","title":"A","size":12}]}`,
			ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockLink, URI: "file:///a", Name: "A", Size: 12}}}},
		"link with odd members": {`{"content":[{"type":"resource_link","uri":"file:///a","name":7,"size":"big","mimeType":[]}]}`,
			ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockLink, URI: "file:///a"}}}},
		"image with odd type": {`{"content":[{"type":"image","mimeType":7,"data":"AQI="}]}`, ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockImage, Data: []byte{1, 2}}}}},
		"data URI":            {`{"content":[{"type":"image","mimeType":"image/png","data":"data:image/png;base64,AQI="}]}`, ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockImage, MIME: "image/png", Data: []byte{1, 2}}}}},
		"URL alphabet":        {`{"content":[{"type":"image","data":"_-8"}]}`, ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockImage, Data: []byte{255, 239}}}}},
		"for the person":      {`{"content":[{"type":"text","text":"a","annotations":{"audience":["user"]}}]}`, ports.ToolResult{Content: plain("a")}},
		"odd annotation":      {`{"content":[{"type":"text","text":"a","annotations":{"priority":"high"}}]}`, ports.ToolResult{Content: plain("a")}},
		"unknown kind":        {`{"content":[{"type":"hologram", "depth":3}]}`, ports.ToolResult{Content: plain(`{"type":"hologram","depth":3}`)}},
		"text as number":      {`{"content":[{"type":"text","text":7}]}`, ports.ToolResult{Content: plain(`{"type":"text","text":7}`)}},
		"bare resource":       {`{"content":[{"type":"resource"}]}`, ports.ToolResult{Content: plain(`{"type":"resource"}`)}},
		"content string":      {`{"content":"just text"}`, ports.ToolResult{Content: plain("just text")}},
		"content object":      {`{"content":{"type":"text","text":"a"}}`, ports.ToolResult{Content: plain("a")}},
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

// FuzzDecodeResult: any JSON is a result whose blocks have what their kinds
// promise, or an error of the right kind. A block that is written again as a
// server would comes back as it was, and so does a stored result.
func FuzzDecodeResult(f *testing.F) {
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
		stored, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("the result cannot be stored: %v", err)
		}
		var again ports.ToolResult
		if err := json.Unmarshal(stored, &again); err != nil || len(again.Content) != len(r.Content) {
			t.Fatalf("what was stored cannot be read: %v", err)
		}
		if len(r.Content) > maxBlocks+1 {
			t.Errorf("%d blocks", len(r.Content))
		}
		if len(r.Structured) > 0 && (!json.Valid(r.Structured) || !utf8.Valid(r.Structured)) {
			t.Errorf("Structured is no JSON in UTF-8: %s", r.Structured)
		}
		for i, b := range r.Content {
			if bad := malformedBlock(b); bad != "" {
				t.Errorf("block %d %s: %+v", i, bad, b)
			}
			if back := decodeBlock(encodeBlock(t, b)); !reflect.DeepEqual(back, mended(b)) {
				t.Errorf("block %d is %+v; there and back it is %+v", i, b, back)
			}
		}
	})
}

// malformedBlock says what a block lacks that its kind promises.
func malformedBlock(b ports.Block) string {
	switch b.Kind {
	case ports.BlockText:
		if len(b.Data) > 0 || b.URI != "" || b.MIME != "" || b.Name != "" {
			return "is text with more than text"
		}
	case ports.BlockImage, ports.BlockAudio:
		if b.Text != "" || b.URI != "" {
			return "is media with text or URI"
		}
	case ports.BlockResource, ports.BlockLink:
		if b.URI == "" {
			return "has no URI"
		}
	default:
		return "has no kind that is known"
	}
	return ""
}

// encodeBlock writes a block as a server would.
func encodeBlock(t *testing.T, b ports.Block) json.RawMessage {
	t.Helper()
	var v map[string]any
	switch b.Kind {
	case ports.BlockText:
		v = map[string]any{"type": "text", "text": b.Text}
	case ports.BlockImage, ports.BlockAudio:
		v = map[string]any{"type": b.Kind, "mimeType": b.MIME, "data": b.Data}
		if b.Data == nil {
			v["data"] = ""
		}
	case ports.BlockLink:
		v = map[string]any{"type": "resource_link", "uri": b.URI, "mimeType": b.MIME, "name": b.Name, "description": b.Text, "size": b.Size}
	case ports.BlockResource:
		resource := map[string]any{"uri": b.URI, "mimeType": b.MIME}
		if b.Text != "" {
			resource["text"] = b.Text
		} else if b.Data != nil {
			resource["blob"] = b.Data
		}
		v = map[string]any{"type": "resource", "resource": resource}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// mended is a block as JSON brings it back.
func mended(b ports.Block) ports.Block {
	if (b.Kind == ports.BlockImage || b.Kind == ports.BlockAudio) && b.Data == nil {
		b.Data = []byte{}
	}
	return b
}

// FuzzDecodeTool: a tool that is taken can be offered to a model: it has a name
// and a schema of an object that says what the server's said; one that is not
// taken is named in the state, on one short line.
func FuzzDecodeTool(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw string) {
		d, err := decodeTool(json.RawMessage(raw), true)
		spec := d.Spec
		if err != nil {
			l := new(listing)
			l.drop(json.RawMessage(raw), 0, err)
			if note := l.note(); len(note) > 400 || strings.ContainsAny(note, "\n\r\x1b") {
				t.Errorf("the note is %q", note)
			}
			return
		}
		if spec.Name == "" || len(spec.Name) > maxToolName || !utf8.ValidString(spec.Name) {
			t.Errorf("the name is %q", spec.Name)
		}
		if !isObject(spec.InputSchema) || !json.Valid(spec.InputSchema) || !utf8.Valid(spec.InputSchema) || len(spec.OutputSchema) > 0 && !json.Valid(spec.OutputSchema) {
			t.Errorf("the schemas are %s and %s", spec.InputSchema, spec.OutputSchema)
		}
		if spec.Class != ports.ClassUnsafe && !strings.Contains(raw, "true") {
			t.Errorf("the class is %s", spec.Class)
		}
		again, err := json.Marshal(map[string]any{"name": spec.Name, "inputSchema": spec.InputSchema})
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decodeTool(again, true); err != nil || back.Spec.Name != spec.Name {
			t.Errorf("there and back it is %+v, %v", back, err)
		}
	})
}

// FuzzEvents: whatever a stream holds, no event is longer than the limit, and
// reading comes to an end. An event that was written comes back as it was.
func FuzzEvents(f *testing.F) {
	f.Fuzz(func(t *testing.T, raw []byte, message string) {
		const max = 1 << 10
		at := new(cursor)
		stream := newEvents(bytes.NewReader(raw), max, at, func([]byte) error { return nil })
		for range len(raw) + 1 {
			data, err := stream.next()
			if err != nil {
				break
			}
			if len(data) > max {
				t.Fatalf("an event of %d bytes", len(data))
			}
		}
		if at.pause() < leastReconnect || at.pause() > mostReconnect || len(at.last) > maxEventID {
			t.Errorf("the cursor is %+v", at)
		}
		if strings.Contains(message, "\r") || message == "" || len(message) > max {
			return
		}
		wire := "id: 1\ndata: " + strings.ReplaceAll(message, "\n", "\ndata: ") + "\n\n"
		data, err := newEvents(strings.NewReader(wire), max, at, func([]byte) error { return nil }).next()
		if err != nil || string(data) != message {
			t.Errorf("%q came as %q, %v", message, data, err)
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
