package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"dragoman/ports"
)

const (
	// readBytes is what one read gives unless asked for less. It stays below
	// the bound of a tool's result (tools.result_bytes), whose overflow is what
	// artifacts are made of.
	readBytes = 8 << 10
	// longestRune is how much of a character a cut can leave on either side.
	longestRune = utf8.UTFMax - 1
)

var artifactSchema = fmt.Sprintf(`{
  "type": "object",
  "properties": {
    "id": {"type": "string", "minLength": 1, "description": "The artifact's id, as it was named in this conversation."},
    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The byte to begin at."},
    "limit": {"type": "integer", "minimum": 1, "maximum": %d, "default": %d, "description": "How many bytes to read at most."}
  },
  "required": ["id"],
  "additionalProperties": false
}`, readBytes, readBytes)

func readArtifact(artifacts ports.Artifacts) *tool {
	return &tool{
		spec: ports.ToolSpec{
			Name:  "read_artifact",
			Title: "Read an artifact",
			Description: "Reads a part of something that was too large to show whole and was kept as an artifact of this conversation. " +
				"To go on, call it again with the offset that the answer names.",
			InputSchema: json.RawMessage(artifactSchema),
			Class:       ports.ClassRead,
		},
		run: func(ctx context.Context, in ports.Conversation, raw json.RawMessage) (ports.ToolResult, error) {
			a := artifactArgs{Limit: readBytes}
			if err := decode(raw, &a); err != nil {
				return ports.ToolResult{}, err
			}
			if err := a.check(); err != nil {
				return ports.ToolResult{}, err
			}
			found, err := artifacts.Read(ctx, in, a.ID, a.Offset, max(a.Limit, utf8.UTFMax)) // less could end before the first character does
			switch {
			case ports.IsKind(err, ports.KindNotFound):
				return failure("This conversation has no artifact %q.", a.ID), nil
			case err != nil:
				return ports.ToolResult{}, err
			}
			return showPart(found, a.Offset), nil
		},
	}
}

type artifactArgs struct {
	ID     string `json:"id"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

func (a artifactArgs) check() error {
	switch {
	case a.ID == "":
		return invalid("id is missing")
	case a.Offset < 0:
		return invalid("offset is negative")
	case a.Limit < 1 || a.Limit > readBytes:
		return invalid("limit is not between 1 and %d", readBytes)
	}
	return nil
}

// showPart says what part of the artifact this is, how to go on, and the part.
func showPart(a ports.Artifact, offset int64) ports.ToolResult {
	if offset > a.Size || offset == a.Size && a.Size > 0 {
		return failure("The artifact has %d bytes; there is nothing at offset %d.", a.Size, offset)
	}
	part, skipped, ok := wholeRunes(a.Data, offset > 0, offset+int64(len(a.Data)) < a.Size)
	if !ok {
		return failure("The artifact %q (%s, %d bytes) is not text and cannot be shown.", a.Name, a.MIME, a.Size)
	}
	begin := offset + int64(skipped)
	end := begin + int64(len(part))
	more := "This is the end."
	if end < a.Size {
		more = fmt.Sprintf("Go on with offset %d.", end)
	}
	return textResult("[%s, bytes %d to %d of %d. %s]\n%s", label(a), begin, end, a.Size, more, part)
}

func label(a ports.Artifact) string {
	if a.Name == "" {
		return a.ID
	}
	return a.Name
}

// wholeRunes leaves out the characters that a cut at the beginning or the end
// went through. ok is false for what is not text in UTF-8; no text has a NUL in it.
func wholeRunes(data []byte, cutBefore, cutAfter bool) (part []byte, skipped int, ok bool) {
	if cutBefore {
		for skipped < len(data) && skipped < longestRune && !utf8.RuneStart(data[skipped]) {
			skipped++
		}
	}
	part = data[skipped:]
	for drop := 1; cutAfter && drop <= longestRune && drop <= len(part) && !utf8.Valid(part); drop++ {
		if head := part[:len(part)-drop]; utf8.Valid(head) {
			part = head
		}
	}
	return part, skipped, utf8.Valid(part) && bytes.IndexByte(part, 0) < 0
}
