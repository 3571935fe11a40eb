package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dragoman/adapters/builtin"
	"dragoman/ports"
	"dragoman/tests/toolsourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf keeps artifacts in memory, as a store does.
type shelf map[ports.Conversation]map[string]ports.Artifact

func (s shelf) Save(_ context.Context, a ports.Artifact) error {
	if s[a.In] == nil {
		s[a.In] = make(map[string]ports.Artifact)
	}
	a.Size = int64(len(a.Data))
	s[a.In][a.ID] = a
	return nil
}

func (s shelf) Read(ctx context.Context, in ports.Conversation, id string, offset, limit int64) (ports.Artifact, error) {
	if err := ctx.Err(); err != nil {
		return ports.Artifact{}, err
	}
	if id == "broken" {
		return ports.Artifact{}, ports.Errorf(ports.KindUnavailable, "shelf read", "disk full")
	}
	a, ok := s[in][id]
	if !ok {
		return ports.Artifact{}, ports.Errorf(ports.KindNotFound, "shelf read", "no %s", id)
	}
	from := min(offset, a.Size)
	a.Data = bytes.Clone(a.Data[from:min(from+limit, a.Size)])
	return a, nil
}

// here is the conversation of the kit's calls.
var here = ports.Conversation{Channel: "test", Chat: "1"}

func TestConformance(t *testing.T) {
	kept := shelf{}
	for n := range 100 {
		keep(t, kept, here, fmt.Sprintf("a%d", n), fmt.Appendf(nil, "content %d", n))
	}
	toolsourcetest.Run(t, toolsourcetest.Harness{
		New:     func() (ports.ToolSource, error) { return builtin.New(kept), nil },
		Trusted: true,
		Echo: toolsourcetest.Echo{
			Tool: "read_artifact",
			Args: func(n int) string { return fmt.Sprintf(`{"id":"a%d"}`, n) },
			Want: func(n int, r ports.ToolResult) error {
				if want := fmt.Sprintf("\ncontent %d", n); !strings.HasSuffix(r.Content[0].Text, want) {
					return fmt.Errorf("the result is %q, want it to end in %q", r.Content[0].Text, want)
				}
				return nil
			},
		},
		Failing: &toolsourcetest.Probe{Tool: "read_artifact", Args: `{"id":"none"}`},
		Refused: &toolsourcetest.Probe{Tool: "read_artifact", Args: `{"id":"a1","limit":0}`},
	})
}

func keep(t *testing.T, s shelf, in ports.Conversation, id string, data []byte) {
	t.Helper()
	if err := s.Save(t.Context(), ports.Artifact{In: in, ID: id, Name: id + ".txt", MIME: "text/plain", Data: data}); err != nil {
		t.Fatal(err)
	}
}

// call calls a tool of a running source.
func call(t *testing.T, kept shelf, name, args string) (ports.ToolResult, error) {
	t.Helper()
	reg := make(catalog, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = builtin.New(kept).Run(ctx, reg)
	}()
	defer func() { cancel(); <-done }()
	for _, tool := range (<-reg).Tools {
		if tool.Spec().Name == name {
			return tool.Call(ctx, ports.ToolCall{Call: ports.Call{Arguments: json.RawMessage(args)}, In: here}, nil)
		}
	}
	t.Fatalf("there is no tool %s", name)
	return ports.ToolResult{}, nil
}

type catalog chan ports.Catalog

func (c catalog) Register(tools ports.Catalog) { c <- tools }
func (c catalog) State(ports.State)            {}
