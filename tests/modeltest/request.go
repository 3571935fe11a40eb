package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/ports"
)

func requestRules() []Rule {
	return []Rule{
		{"a whole history is taken", "a turn goes on with calls, results, failures and pictures behind it", historyIsTaken},
		{"tools go out as they are named", "what the model calls must be what the core knows; one order keeps the provider's cache warm", toolsGoOut},
		{"text alone is text alone", "the last words of a turn that is at its limits must not be another call", textAlone},
		{"tools stay listed without calls", "the provider's cache begins with them; a prompt that lacks them is paid in full", toolsStayListed},
		{"equal requests are equal on the wire", "a byte that differs makes the provider's prompt cache useless", equalOnTheWire},
		{"the request stays as it was", "it is shared with the journal, and with the next model in line", requestStays},
		{"its own state goes back", "providers refuse the next turn without their signatures", ownStateGoesBack},
		{"foreign state does not go out", "another provider would refuse it, and has no business with it", foreignStateStays},
	}
}

// history has everything that an Entry can hold.
func history() ports.ModelRequest {
	return ports.ModelRequest{
		System: "You are a test.",
		Entries: []ports.Entry{
			{Role: ports.RoleUser, Text: "What is on this picture?", Blocks: []ports.Block{
				{Kind: ports.BlockImage, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")},
				{Kind: ports.BlockResource, URI: "file:///notes.txt", MIME: "text/plain", Text: "rain"},
				{Kind: ports.BlockLink, URI: "https://example.org/", Name: "site"},
			}},
			{Role: ports.RoleAssistant, Calls: []ports.Call{
				{ID: "call_1", Name: "a__look", Arguments: json.RawMessage(`{}`)},
				{ID: "call_2", Name: "b__look", Arguments: json.RawMessage(`"not an object"`)},
			}},
			{Role: ports.RoleTool, CallID: "call_1", Text: "a cat", Blocks: []ports.Block{
				{Kind: ports.BlockImage, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}},
			{Role: ports.RoleTool, CallID: "call_2", Text: "the arguments are not an object", IsError: true},
			{Role: ports.RoleAssistant, Text: "A cat.", Calls: []ports.Call{{ID: "call_3", Name: "a__look", Arguments: json.RawMessage(`{"at":"tail"}`)}}},
			{Role: ports.RoleTool, CallID: "call_3"},
			{Role: ports.RoleAssistant, Text: "A cat with a tail."},
			{Role: ports.RoleUser, Text: "Hello!"},
		},
		Tools: []ports.ToolSpec{
			{Name: "a__look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)},
			{Name: "b__look", InputSchema: json.RawMessage(`{"type":"object"}`)},
		},
		MaxTokens: 100,
		CacheKey:  "conversation-1",
	}
}

func historyIsTaken(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, history(), nil)
	if err == nil && reply.Text == "" && len(reply.Calls) == 0 {
		return errors.New("neither text nor calls")
	}
	return err
}

func toolsGoOut(ctx context.Context, h Harness) error {
	r := prompt()
	var want []string
	for i := range 20 {
		name := fmt.Sprintf("server-%02d__Tool_%d", i, 100-i)
		want = append(want, name)
		r.Tools = append(r.Tools, ports.ToolSpec{Server: "x", Name: name, Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	seen, err := h.sent(ctx, r)
	if err != nil {
		return err
	}
	if !slices.Equal(seen.Tools, want) {
		return fmt.Errorf("asked with the tools %q, the peer got %q", want, seen.Tools)
	}
	return nil
}

func textAlone(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText, Calls: twoCalls}); err != nil {
		return err
	}
	r := callPrompt()
	r.NoCalls = true
	deltas, reply, err := listen(ctx, h, r)
	switch {
	case err != nil:
		return err
	case len(reply.Calls) > 0 || reply.Stop == ports.StopCalls || reply.Text == "":
		return fmt.Errorf("asked for text alone, the reply is %s", show(reply))
	case strings.Join(deltas, "") != reply.Text:
		return fmt.Errorf("deltas give %q, the reply's text is %q", deltas, reply.Text)
	}
	return nil
}

func toolsStayListed(ctx context.Context, h Harness) error {
	r := callPrompt()
	with, err := h.sent(ctx, r)
	if err != nil {
		return err
	}
	r.NoCalls = true
	without, err := h.sent(ctx, r)
	switch {
	case err != nil:
		return err
	case !slices.Equal(with.Tools, without.Tools):
		return fmt.Errorf("with calls the peer got the tools %q, without %q", with.Tools, without.Tools)
	case bytes.Equal(with.Body, without.Body):
		return fmt.Errorf("nothing tells the peer that it must not call:\n%s", without.Body)
	}
	return nil
}

func equalOnTheWire(ctx context.Context, h Harness) error {
	first, err := h.sent(ctx, history())
	if err != nil {
		return err
	}
	second, err := h.sent(ctx, history())
	if err != nil {
		return err
	}
	if !bytes.Equal(first.Body, second.Body) {
		return fmt.Errorf("two equal requests went out as\n%s\n%s", first.Body, second.Body)
	}
	return nil
}

func requestStays(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	r := history()
	if _, err := h.Model.Generate(ctx, r, nil); err != nil {
		return err
	}
	if before, after := show(history()), show(r); before != after {
		return fmt.Errorf("before: %s\nafter: %s", before, after)
	}
	return nil
}

// The marks by which state is found again in what the peer got.
const (
	replyMark = "mark-of-the-reply-7c1"
	callMark  = "mark-of-the-call-9e4"
)

func ownStateGoesBack(ctx context.Context, h Harness) error {
	body, marks, err := replayed(ctx, h, func(m string) string { return m })
	if err != nil {
		return err
	}
	for _, mark := range marks {
		if !bytes.Contains(body, []byte(mark)) {
			return fmt.Errorf("%s did not come back to the peer:\n%s", mark, body)
		}
	}
	return nil
}

func foreignStateStays(ctx context.Context, h Harness) error {
	body, marks, err := replayed(ctx, h, func(m string) string { return "another/" + m })
	if err != nil {
		return err
	}
	for _, mark := range marks {
		if bytes.Contains(body, []byte(mark)) {
			return fmt.Errorf("%s of another model went to the peer:\n%s", mark, body)
		}
	}
	return nil
}

// replayed makes a reply with state, plays it back as said by the model that
// name tells, and returns what the peer got, with the marks that were made. Not
// every wire adds something to a call.
func replayed(ctx context.Context, h Harness, name func(string) string) (body []byte, marks []string, err error) {
	call := ports.Call{ID: "call_1", Name: "test__echo", Arguments: json.RawMessage(`{"text":"hi"}`),
		State: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"` + callMark + `"}}}`)}
	marks = []string{replyMark, callMark}
	err = h.script(ctx, Act{Do: Reply, Text: "Let me see.", Calls: []ports.Call{call}, State: replyMark})
	if errors.Is(err, errors.ErrUnsupported) {
		call.State, marks = nil, marks[:1]
		err = h.script(ctx, Act{Do: Reply, Text: "Let me see.", Calls: []ports.Call{call}, State: replyMark})
	}
	if err != nil {
		return nil, nil, err
	}
	r := callPrompt()
	reply, err := h.Model.Generate(ctx, r, nil)
	if err != nil {
		return nil, nil, err
	}
	if len(reply.Calls) != 1 {
		return nil, nil, fmt.Errorf("one call was made, %d arrived", len(reply.Calls))
	}
	r.Entries = append(r.Entries,
		ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, Calls: reply.Calls, State: reply.State, Model: name(reply.Model)},
		ports.Entry{Role: ports.RoleTool, CallID: reply.Calls[0].ID, Text: "hi"})
	seen, err := h.sent(ctx, r)
	return seen.Body, marks, err
}

// sent makes a request that is answered, and returns what the peer got.
func (h Harness) sent(ctx context.Context, r ports.ModelRequest) (Seen, error) {
	if _, err := h.seen(ctx); err != nil {
		return Seen{}, err
	}
	if err := h.script(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return Seen{}, err
	}
	if _, err := h.Model.Generate(ctx, r, nil); err != nil {
		return Seen{}, err
	}
	return h.seen(ctx)
}
