package anthropic

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"dragoman/ports"
)

// TestTheSDKSendsTheSame has the vendor's own types, which the adapter does
// without, read our requests and write them down again: what they do not know is lost.
func TestTheSDKSendsTheSame(t *testing.T) {
	closing := fullRequest()
	closing.NoCalls = true
	for name, r := range map[string]ports.ModelRequest{"full": fullRequest(), "no calls": closing, "minimal": hello()} {
		raw, err := testModel(t, "http://model.test").body(r)
		if err != nil {
			t.Fatal(err)
		}
		var params sdk.MessageNewParams
		if err := json.Unmarshal(raw, &params); err != nil {
			t.Fatalf("%s: the SDK does not read our request: %v", name, err)
		}
		again, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		var ours, theirs map[string]any
		if err := json.Unmarshal(raw, &ours); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &theirs); err != nil {
			t.Fatal(err)
		}
		delete(ours, "stream") // a method of the SDK, not a parameter
		if a, b := show(t, ours), show(t, theirs); a != b {
			t.Errorf("%s: we send\n%s\nand the SDK\n%s", name, a, b)
		}
	}
}

func show(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestTheSDKReadsTheSame has both read the streams that keep to the standard.
func TestTheSDKReadsTheSame(t *testing.T) {
	p := newPeer(t)
	h := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(h.CloseIdleConnections)
	c := sdk.NewClient(option.WithBaseURL(p.URL), option.WithAPIKey(testKey), option.WithHTTPClient(h), option.WithMaxRetries(0))
	m := testModel(t, p.URL)
	for name, frames := range map[string][]string{
		"text":  {begun, `{"type":"ping"}`, startText(0), says(0, "Grüße 😀 "), says(0, "\"a\\b\"\n<&>"), ended(0), stops("end_turn"), stopped},
		"calls": {begun, startText(0), says(0, "Let me see."), ended(0), startCall(1, "toolu_1", "n"), argues(1, ""), argues(1, `{"city":"Os`), argues(1, `lo"}`), ended(1), startCall(2, "toolu_2", "m"), argues(2, ""), ended(2), stops("tool_use"), stopped},
		"thoughts": {begun, startThinking(0), thinks(0, "Hm, "), thinks(0, "so."), signs(0, "sealed"), ended(0), redacted(1, "b3BhcXVl"), ended(1), startText(2), says(2, "A"), ended(2),
			startCall(3, "toolu_1", "n"), argues(3, `{}`), ended(3), stops("tool_use"), stopped},
	} {
		t.Run(name, func(t *testing.T) {
			p.says(frames...)
			var theirs sdk.Message
			s := c.Messages.NewStreaming(t.Context(), sdk.MessageNewParams{Model: "claude-test", MaxTokens: 100,
				Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hello!"))}})
			for s.Next() {
				if err := theirs.Accumulate(s.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			var text string
			var made []string
			for _, b := range theirs.Content {
				switch b.Type {
				case "text":
					text += b.Text
				case "tool_use":
					made = append(made, b.ID+" "+b.Name+" "+string(b.Input))
				}
			}
			got, err := m.Generate(t.Context(), hello(), nil)
			if err != nil || got.Text != text || !slices.Equal(calls(got), made) || got.Usage.Input != int(theirs.Usage.InputTokens) || got.Usage.Output != int(theirs.Usage.OutputTokens) {
				t.Errorf("we read %+v, %v; the SDK %+v", got, err, theirs)
			}
			sameReplay(t, m, got, theirs)
		})
	}
}

// sameReplay holds what we send back of a reply against what the SDK does.
func sameReplay(t *testing.T, m *Model, got ports.ModelReply, theirs sdk.Message) {
	t.Helper()
	r := ports.ModelRequest{Tools: []ports.ToolSpec{look}, Entries: []ports.Entry{user("Hello!"),
		{Role: ports.RoleAssistant, Text: got.Text, Calls: got.Calls, State: got.State, Model: got.Model}}}
	var ours, back any
	for v, raw := range map[*any]string{&ours: show(t, bodyOf(t, m, r).Messages[1]), &back: show(t, theirs.ToParam())} {
		if err := json.Unmarshal([]byte(raw), v); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := show(t, ours), show(t, back); a != b {
		t.Errorf("we send back\n%s\nand the SDK\n%s", a, b)
	}
}
