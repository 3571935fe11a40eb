package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/ports"
)

// Encode is v as JSON. It leaves <, > and & as they are, unlike json.Marshal:
// they are no danger here, and tokens to a model.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// IsObject reports whether raw is one whole JSON object.
func IsObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// ReplayArguments is a recorded call's arguments as all wires want them: a JSON
// object. Anthropic and the chat templates of local servers fail the whole
// request on anything else, so what is no object goes into one.
func ReplayArguments(args json.RawMessage) string {
	switch {
	case len(args) == 0:
		return "{}"
	case IsObject(args):
		return string(args)
	}
	wrapped, err := json.Marshal(map[string]json.RawMessage{"invalid_arguments": args})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}

// IsImage reports whether a block is a picture in one of the forms that all
// providers take.
func IsImage(b ports.Block) bool {
	if b.Kind != ports.BlockImage {
		return false
	}
	switch b.MIME {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// AudioFormat is OpenAI's word for the form of a sound, false for what is none
// of those that it takes.
func AudioFormat(b ports.Block) (string, bool) {
	if b.Kind != ports.BlockAudio {
		return "", false
	}
	format, ok := audioFormats[b.MIME]
	return format, ok
}

var audioFormats = map[string]string{"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}

// Base64 is how bytes stand in JSON.
func Base64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// DataURL is a block's data as a URL.
func DataURL(b ports.Block) string { return "data:" + b.MIME + ";base64," + Base64(b.Data) }

// BlockText is a block in words, for where the wire has no place for it.
func BlockText(b ports.Block) string {
	switch {
	case b.Kind == ports.BlockLink:
		return strings.TrimSpace(fmt.Sprintf("[link %s %s] %s", b.Name, b.URI, b.Text))
	case b.Text != "" && b.URI != "":
		return "[" + b.URI + "]\n" + b.Text
	case b.Text != "":
		return b.Text
	}
	name := b.Name
	if name == "" {
		name = b.URI
	}
	return strings.Join(strings.Fields(fmt.Sprintf("[%s %s %s, %d bytes, not shown]", b.Kind, name, b.MIME, len(b.Data))), " ")
}

// NotTaken is a picture or a sound in words, for a model that takes none.
func NotTaken(b ports.Block) string {
	return strings.Join(strings.Fields(fmt.Sprintf("[%s %s", b.Kind, b.Name)), " ") + ", not shown: this model takes none]"
}

// JoinLines puts two texts one below the other.
func JoinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// FailedCall is what a failed call gave, in words: a wire may have no other
// place to say that it failed.
func FailedCall(text string) string {
	if text == "" {
		return "The tool call failed and gave no reason."
	}
	return "The tool call failed: " + text
}

// EmptyResult is what a call says that gave nothing: some providers refuse an
// empty text.
const EmptyResult = "The tool call succeeded and returned nothing."
