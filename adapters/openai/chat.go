package openai

import (
	"bytes"
	"io"

	"dragoman/adapters/internal/wire"
)

// Read takes one event of the stream: implements wire.Reader.
func (r *reply) Read(e wire.Event) error {
	if string(e.Data) == "[DONE]" {
		return io.EOF
	}
	c, err := readChunk(e.Data)
	if err != nil {
		return wire.Broken("a frame of the stream is not a JSON object", err)
	}
	if len(c.Error) > 0 && !bytes.Equal(c.Error, []byte("null")) {
		return wire.Failed(e.Data)
	}
	r.add(c)
	return nil
}
