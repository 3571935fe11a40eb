package openai

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// bothWires runs a test over each of the two.
func bothWires(t *testing.T, test func(t *testing.T, p *peer, m *Model), change ...func(*Config)) {
	for _, api := range []string{apiChat, apiResponses} {
		t.Run(api, func(t *testing.T) {
			p := newPeer(t)
			test(t, p, testModel(t, p.URL+"/v1", append(change, func(c *Config) { c.API = api })...))
		})
	}
}

// TestEachFaultHasOneOutcome: what providers do, and what an SDK takes for success
// in part, is an error of a plain kind. No call comes out of it.
func TestEachFaultHasOneOutcome(t *testing.T) {
	half := func(do modeltest.Do) modeltest.Act {
		return modeltest.Act{Do: do, Text: "Half an ans", Calls: []ports.Call{{ID: "c1", Name: "rm", Arguments: []byte(`{"path":"/"}`)}}}
	}
	body := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = fmt.Fprint(w, text)
		}
	}
	limited := modeltest.Act{Do: modeltest.RateLimit, Wait: 3 * time.Second}
	for _, c := range []struct {
		fault string
		act   modeltest.Act
		raw   http.HandlerFunc // instead of act
		kind  ports.Kind
		wait  time.Duration
	}{
		{fault: "429 with Retry-After", act: limited, kind: ports.KindRateLimited, wait: 3 * time.Second},
		{fault: "500", act: half(modeltest.ServerError), kind: ports.KindTemporary},
		{fault: "529", act: half(modeltest.Overloaded), kind: ports.KindTemporary},
		{fault: "the connection torn midway", act: half(modeltest.Cut), kind: ports.KindProtocol},
		{fault: "the connection torn before the headers", raw: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, kind: ports.KindTemporary},
		{fault: "a clean end without the mark", act: half(modeltest.Unmarked), kind: ports.KindProtocol},
		{fault: "a stream with nothing in it", act: half(modeltest.Empty), kind: ports.KindProtocol},
		{fault: "200 and an error in a JSON body", raw: body(200, "application/json", `{"error":{"message":"Rate limit reached","type":"rate_limit_error"}}`), kind: ports.KindRateLimited},
		{fault: "200 and a reply in a JSON body", act: half(modeltest.JSON), kind: ports.KindProtocol},
		{fault: "200 and a broken body", raw: body(200, "application/json", `{malformed json: <<<chaos>>>`), kind: ports.KindProtocol},
		{fault: "bad JSON in a frame", act: half(modeltest.BadFrame), kind: ports.KindProtocol},
		{fault: "an error frame: overloaded", act: half(modeltest.ErrorFrame), kind: ports.KindTemporary},
		{fault: "an error frame: rate limited", act: half(modeltest.LimitFrame), kind: ports.KindRateLimited},
		{fault: "502 and a page", act: half(modeltest.HTMLError), kind: ports.KindTemporary},
		{fault: "200 and a page", act: half(modeltest.HTML), kind: ports.KindProtocol},
		{fault: "no answer", act: half(modeltest.Hang), kind: ports.KindTimeout},
		{fault: "silence midway", act: half(modeltest.HangMid), kind: ports.KindTimeout},
		{fault: "the filter", act: half(modeltest.Filtered), kind: ports.KindRefused},
		{fault: "overflow", act: half(modeltest.TooLarge), kind: ports.KindTooLarge},
	} {
		t.Run(c.fault, func(t *testing.T) {
			impatient := func(cfg *Config) {
				if c.kind == ports.KindTimeout {
					cfg.IdleTimeout = 300 * time.Millisecond
				}
			}
			bothWires(t, func(t *testing.T, p *peer, m *Model) {
				if c.raw != nil {
					p.answer(c.raw)
				} else if err := p.script(t.Context(), c.act); err != nil {
					t.Fatal(err)
				}
				reply, err := m.Generate(t.Context(), hello(), func(string) {})
				if !ports.IsKind(err, c.kind) || ports.RetryAfter(err) != c.wait || reply.Text != "" || reply.Calls != nil {
					t.Errorf("%s after %s: %v, and the reply %+v; want %s after %s", ports.KindOf(err), ports.RetryAfter(err), err, reply, c.kind, c.wait)
				}
			}, impatient)
		})
	}
}

// A server that does not know tool_choice may answer with calls all the same.
func TestCallsThatNobodyAskedForAreLeftOut(t *testing.T) {
	r := hello()
	r.NoCalls = true // and no tools at all: nothing tells the peer
	calls := []ports.Call{{ID: "c1", Name: "n", Arguments: []byte(`{}`), State: []byte(`{"x":1}`)}}
	bothWires(t, func(t *testing.T, p *peer, m *Model) {
		if err := p.script(t.Context(), modeltest.Act{Do: modeltest.Reply, Text: "All done.", Calls: calls, State: "mark"}); err != nil {
			t.Fatal(err)
		}
		if reply, err := m.Generate(t.Context(), r, nil); err != nil || reply.Text != "All done." || reply.Calls != nil || reply.State != nil || reply.Stop != ports.StopEnd {
			t.Errorf("%+v, %v", reply, err)
		}
		if err := p.script(t.Context(), modeltest.Act{Do: modeltest.Reply, Calls: calls}); err != nil {
			t.Fatal(err)
		}
		if reply, err := m.Generate(t.Context(), r, nil); !ports.IsKind(err, ports.KindProtocol) {
			t.Errorf("calls alone give %+v, %v", reply, err)
		}
	})
}
