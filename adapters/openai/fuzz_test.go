package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"dragoman/adapters/internal/wire"
)

// FuzzFrame must find no frame that ends the process, whatever a peer sends.
func FuzzFrame(f *testing.F) {
	for _, frame := range benchFrames {
		f.Add([]byte(frame))
	}
	for _, seed := range []string{`{"choices":[null,5,{"delta":null},{"index":"0","delta":{"content":[{"type":"text","text":5}],"tool_calls":[null,{}]}}]}`, `{"usage":5}`, `{"error":{}}`, `null`, `[]`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		r := newReply("m", nil)
		if err := r.Read(wire.Event{Data: bytes.TrimSpace(frame)}); err != nil && !errors.Is(err, io.EOF) {
			return
		}
		reply, ended, err := r.Reply()
		if err != nil || !ended {
			return
		}
		for _, c := range reply.Calls {
			if !json.Valid(c.Arguments) || c.State != nil && !json.Valid(c.State) || c.Name == "" || c.ID == "" {
				t.Errorf("call %+v of %s", c, frame)
			}
		}
		if reply.State != nil && !json.Valid(reply.State) {
			t.Errorf("state %s of %s", reply.State, frame)
		}
	})
}
