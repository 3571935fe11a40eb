package desk

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/adapters/mcp"
	"dragoman/ports"
	"dragoman/tests/toolsourcetest"
)

const childVar = "DRAGOMAN_TEST_DESK"

func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(childVar); ok {
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// TestThroughTheAdapter runs the kit against the desk as a real child.
func TestThroughTheAdapter(t *testing.T) {
	toolsourcetest.Run(t, toolsourcetest.Harness{
		New: func() (ports.ToolSource, error) {
			return mcp.New(mcp.Config{
				Command: os.Args[0],
				Env:     map[string]ports.Secret{childVar: "1", "GORACE": "atexit_sleep_ms=0"},
				Trusted: true,
			}, mcp.Deps{})
		},
		Trusted: true,
		Echo: toolsourcetest.Echo{
			Tool: "calculate",
			Args: func(n int) string { return fmt.Sprintf(`{"expression":"%d*2"}`, n) },
			Want: func(n int, r ports.ToolResult) error {
				if len(r.Content) != 1 || r.Content[0].Text != fmt.Sprint(2*n) {
					return fmt.Errorf("%d*2 is %+v", n, r.Content)
				}
				return nil
			},
		},
		Failing: &toolsourcetest.Probe{Tool: "world_clock", Args: `{"place":"Atlantis"}`},
	})
}

// talk is a Serve and a client of it, line by line.
type talk struct {
	t       *testing.T
	in      *io.PipeWriter
	answers *bufio.Scanner
	done    chan error
}

func startTalk(t *testing.T, ctx context.Context) *talk {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	k := &talk{t: t, in: inW, answers: bufio.NewScanner(outR), done: make(chan error, 1)}
	go func() {
		k.done <- Serve(ctx, inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close(); outR.Close() })
	return k
}

func (k *talk) ask(line string) map[string]json.RawMessage {
	k.t.Helper()
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.t.Fatal(err)
	}
	if !k.answers.Scan() {
		k.t.Fatalf("no answer to %s", line)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(k.answers.Bytes(), &m); err != nil {
		k.t.Fatalf("%s: %v", k.answers.Bytes(), err)
	}
	return m
}

func TestServeSpeaksOldAndNew(t *testing.T) {
	k := startTalk(t, t.Context())
	for _, version := range []string{"2024-11-05", "2025-11-25"} {
		m := k.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		if !strings.Contains(string(m["result"]), `"protocolVersion":"`+version+`"`) {
			t.Errorf("initialize with %s gives %s %s", version, m["result"], m["error"])
		}
	}
	if m := k.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`); m["result"] == nil {
		t.Errorf("ping gives %s", m["error"])
	}
	if m := k.ask(`{"jsonrpc":"2.0","id":3,"method":"no/such"}`); !strings.Contains(string(m["error"]), "-32601") {
		t.Errorf("an unknown method gives %s", m["error"])
	}
	if m := k.ask(`nonsense`); !strings.Contains(string(m["error"]), "-32700") {
		t.Errorf("nonsense gives %s", m["error"])
	}
	k.in.Close()
	if err := <-k.done; err != nil {
		t.Errorf("Serve returned %v at the end of its input", err)
	}
}

func TestServeAnswersBeforeTheEnd(t *testing.T) {
	in := strings.NewReader(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n", 50))
	var out strings.Builder
	if err := Serve(t.Context(), in, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 50 {
		t.Errorf("50 requests and the end of the input give %d answers", n)
	}
}

func TestServeEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	k := startTalk(t, ctx)
	k.ask(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	cancel()
	select {
	case err := <-k.done:
		if err != context.Canceled {
			t.Errorf("Serve returned %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("Serve did not return")
	}
}

func TestServeRefusesHugeLines(t *testing.T) {
	in := strings.NewReader(strings.Repeat("x", maxMessage+2))
	if err := Serve(t.Context(), in, io.Discard); err == nil {
		t.Error("a line without end is no error")
	}
}

func TestServeTellsOfABrokenOutput(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	in := strings.NewReader(strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n", 5))
	if err := Serve(t.Context(), in, w); err == nil {
		t.Error("an output that nobody reads is no error")
	}
}
