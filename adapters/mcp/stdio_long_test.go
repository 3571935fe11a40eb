//go:build unix

package mcp

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// raw has the peer answer with the text, where ID stands for the call's id.
func (r *rig) raw(text string) (ports.ToolResult, error) {
	r.t.Helper()
	return r.call(r.t.Context(), "say", `{"raw":"`+base64.StdEncoding.EncodeToString([]byte(text))+`"}`)
}

// TestALongResultCostsItsCallAlone: wherever the id stands, the call is told at
// once, and another one that is under way, the process and the connection stay.
func TestALongResultCostsItsCallAlone(t *testing.T) {
	cfg := peerConfig("good")
	cfg.MaxMessageBytes = 64 << 10
	log := new(journal)
	src, err := New(cfg, Deps{Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r := startSource(t, src).ready()
	pid := r.pid()
	slow := make(chan error, 1)
	go func() {
		_, err := r.tool("slow").Call(t.Context(), ports.ToolCall{}, nil)
		slow <- err
	}()
	link := sessionOf(src).link.(*stdio)
	eventually(t, "the other call is on its way", func() bool {
		link.mu.Lock()
		defer link.mu.Unlock()
		return len(link.pending) == 1
	})
	fill := strings.Repeat(`x\"{`, 256<<10)
	for name, text := range map[string]string{
		"id before":    `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"` + fill + `"}]}}`,
		"id behind":    `{"result":{"id":77,"content":[{"type":"text","text":"` + fill + `"}]},"jsonrpc":"2.0","id":ID}`,
		"id as text":   `{"result":{"content":[{"type":"text","text":"` + fill + `"}]},"id":"ID"}`,
		"error":        `{"error":{"code":1,"message":"` + fill + `"},"id":ID}`,
		"one too many": `{"id":ID,"result":"` + strings.Repeat("x", 64<<10) + `"}`,
	} {
		_, err := r.raw(text)
		wantKind(t, err, ports.KindTooLarge, "more than 65536 bytes (max_message_bytes)")
		r.wantEcho("after " + name)
	}
	if now := r.pid(); now != pid || r.last().Restarts != 0 {
		t.Errorf("process %d became %d, after %d restarts", pid, now, r.last().Restarts)
	}
	select {
	case err := <-slow:
		t.Errorf("the call beside them ended: %v", err)
	default:
	}
	if line := log.line("mcp_message_too_large"); !strings.Contains(line, "limit=65536") {
		t.Errorf("the log says %q", line)
	}
	r.end()
	<-slow
}

// TestALongLineThatAnswersNothingEndsTheConnection, as nobody could be told.
func TestALongLineThatAnswersNothingEndsTheConnection(t *testing.T) {
	long := strings.Repeat("x", 128<<10)
	for name, text := range map[string]string{
		"noise":     long,
		"a batch":   `[{"id":ID,"result":"` + long + `"}]`,
		"no id":     `{"result":"` + long + `"}`,
		"broken":    `{"id":ID,"result":"` + long + `"}}`,
		"odd id":    `{"id":"abc","result":"` + long + `"}`,
		"no result": `{"id":ID,"nothing":"` + long + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := peerConfig("good")
			cfg.MaxMessageBytes = 64 << 10
			r := start(t, cfg).ready()
			_, err := r.raw(text)
			wantKind(t, err, ports.KindUnsure, "more than 65536 bytes (max_message_bytes)")
			s := r.awaitPhase(ports.PhaseDegraded, 0)
			if !strings.Contains(s.Err, "max_message_bytes") {
				t.Errorf("the state says %q", s.Err)
			}
		})
	}
}

// TestALongMessageOfTheServerIsRefused: a request beyond the limit is answered, a
// notification dropped, and both cost nothing else.
func TestALongMessageOfTheServerIsRefused(t *testing.T) {
	cfg := peerConfig("good")
	cfg.MaxMessageBytes = 64 << 10
	r := start(t, cfg).ready()
	long := strings.Repeat("x", 128<<10)
	done := "\n" + `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`
	for _, text := range []string{`{"method":"notifications/message","params":"` + long + `"}`, `{"params":"` + long + `","id":"long","method":"sampling/createMessage"}`} {
		if _, err := r.raw(text + done); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the request is answered", func() bool { return strings.Contains(r.ask("answers"), "long") })
	if answers := r.ask("answers"); !strings.Contains(answers, "-32600") || !strings.Contains(answers, "too long") {
		t.Errorf("it is answered by %s", answers)
	}
}

// TestABrokenAnswerCostsItsCallAtOnce: nobody waits for the time-out of a call
// whose answer came and cannot be read.
func TestABrokenAnswerCostsItsCallAtOnce(t *testing.T) {
	cfg := peerConfig("good")
	cfg.CallTimeout = time.Minute
	r := start(t, cfg).ready()
	begun := time.Now()
	for _, text := range []string{"{\"id\":ID,\"result\":{\"text\":\"a\x00b\"}}", "{\"id\":ID,\"result\":\x00}", "{\"result\":tru,\"id\":ID}", "{\"result\":{\"a\":\"\\x\"},\"id\":ID}"} {
		_, err := r.raw(text)
		wantKind(t, err, ports.KindProtocol, "the answer is no JSON-RPC")
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	r.wantEcho("after them")
}

// TestOddBytesAreTaken: what can be read is read.
func TestOddBytesAreTaken(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	for text, want := range map[string]string{
		"{\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\xfeb\"}]}}":          "a\uFFFD\uFFFDb",
		"\uFEFF{\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"c\"}]}}\r":           "c",
		"\x00\x00\n\r\n  \t{\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"d\"}]}}": "d",
	} {
		result, err := r.raw(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if err := wantText(result, want); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestServerThatClosesItsInput: a living process that will hear nothing more is
// given up with the next word to it, and started again.
func TestServerThatClosesItsInput(t *testing.T) {
	cfg := peerConfig("good")
	cfg.CallTimeout = 3 * time.Second // for a call that was in the pipe already
	r := start(t, cfg).ready()
	pid := r.pid()
	r.ask("close stdin")
	var err error
	eventually(t, "it is noticed", func() bool {
		_, err = r.call(t.Context(), "echo", `{}`)
		return err != nil && !ports.IsKind(err, ports.KindTimeout)
	})
	if !ports.IsKind(err, ports.KindUnavailable) && !ports.IsKind(err, ports.KindUnsure) {
		t.Errorf("a call that is not heard gives %v", err)
	}
	gone(t, pid)
	r.await("ready again", 0, func(s ports.State) bool { return s.Phase == ports.PhaseReady && s.Restarts == 1 })
	r.wantEcho("again")
}

// TestAFloodOnStderrIsBoundedAndKept: it holds nobody up, costs no memory, and
// its end is kept.
func TestAFloodOnStderrIsBoundedAndKept(t *testing.T) {
	r := start(t, peerConfig("good")).ready()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if said := r.ask("flood stderr"); said != "flooded" {
		t.Fatal(said)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20 {
		t.Errorf("%d bytes were allocated for 64 MiB on stderr", grown)
	}
	s := r.await("with its end", 0, func(s ports.State) bool {
		return len(s.Stderr) > 0 && s.Stderr[len(s.Stderr)-1] == "the last line"
	})
	for _, line := range s.Stderr {
		if len(line) > maxLineText+len("…") {
			t.Errorf("a line of %d bytes is kept", len(line))
		}
	}
	if n := len(s.Stderr); n > keptTailLines {
		t.Errorf("%d lines are kept", n)
	}
	r.wantEcho(fmt.Sprint("after ", len(s.Stderr), " lines"))
}
