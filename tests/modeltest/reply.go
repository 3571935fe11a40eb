package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/ports"
)

const someText = "Bergen: rain, 9 °C. **Bring** an umbrella – «paraply» ☔."

func replyRules() []Rule {
	return []Rule{
		{"text is whole", "the reply is what the person reads and what the journal keeps", textIsWhole},
		{"deltas are the text", "the preview that grew on the screen must be the answer that stays", deltasAreText},
		{"text arrives in pieces", "a preview that comes all at once is none", textInPieces},
		{"nobody has to listen", "without previews onText is nil", nobodyListens},
		{"onText is called by the caller", "the core keeps no lock around it", onTextFromCaller},
		{"onText ends with Generate", "a late delta would write into a finished turn", onTextEnds},
		{"usage is passed on", "spend limits are reckoned from it", usagePassedOn},
		{"cached tokens are part of the input", "a price is reckoned from the three, and a prompt is as long as all of it", cachedIsInput},
		{"length is told", "a reply cut by its limit must not pass for a whole one", lengthIsTold},
		{"the model has a name", "opaque state goes back to it alone, and usage is counted by it", modelHasName},
		{"many at once", "one model serves all conversations", manyAtOnce},
	}
}

func textIsWhole(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, prompt(), nil)
	if err != nil {
		return err
	}
	if reply.Text != someText || len(reply.Calls) != 0 || reply.Stop != ports.StopEnd {
		return fmt.Errorf("the peer said %q and ended; the reply is %s", someText, show(reply))
	}
	return nil
}

func deltasAreText(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	deltas, reply, err := listen(ctx, h, prompt())
	if err != nil {
		return err
	}
	if got := strings.Join(deltas, ""); got != reply.Text || got == "" {
		return fmt.Errorf("deltas give %q, the reply's text is %q", got, reply.Text)
	}
	return nil
}

func textInPieces(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: strings.Repeat("one more word ", 40)}); err != nil {
		return err
	}
	deltas, _, err := listen(ctx, h, prompt())
	if err != nil {
		return err
	}
	if len(deltas) < 2 {
		return fmt.Errorf("a long text came in %d piece(s)", len(deltas))
	}
	for _, d := range deltas {
		if d == "" {
			return errors.New("onText was called with nothing")
		}
	}
	return nil
}

func nobodyListens(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, prompt(), nil)
	if err == nil && reply.Text == "" {
		return errors.New("no text in the reply")
	}
	return err
}

func onTextFromCaller(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	caller := goroutine()
	var other string
	_, err := h.Model.Generate(ctx, prompt(), func(string) {
		if g := goroutine(); g != caller {
			other = g
		}
	})
	if err == nil && other != "" {
		return fmt.Errorf("called from %s, Generate from %s", other, caller)
	}
	return err
}

func onTextEnds(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	var returned, late atomic.Bool
	for range 5 {
		returned.Store(false)
		_, err := h.Model.Generate(ctx, prompt(), func(string) {
			if returned.Load() {
				late.Store(true)
			}
		})
		returned.Store(true)
		if err != nil {
			return err
		}
		<-time.After(20 * time.Millisecond) // for a straggler to show itself
		if late.Load() {
			return errors.New("onText was called after Generate returned")
		}
	}
	return nil
}

func usagePassedOn(ctx context.Context, h Harness) error {
	want := ports.Tokens{Input: 1234, Output: 56}
	if err := h.script(ctx, Act{Do: Reply, Text: someText, Usage: want}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, prompt(), nil)
	if err == nil && reply.Usage != want {
		return fmt.Errorf("the peer counted %+v, the reply says %+v", want, reply.Usage)
	}
	return err
}

// cachedIsInput leaves out CacheWrite where the provider does not tell it.
func cachedIsInput(ctx context.Context, h Harness) error {
	want := ports.Tokens{Input: 1234, CachedInput: 1000, CacheWrite: 200, Output: 56}
	if err := h.script(ctx, Act{Do: Reply, Text: someText, Usage: want}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, prompt(), nil)
	if err != nil {
		return err
	}
	untold := want
	untold.CacheWrite = 0
	if reply.Usage != want && reply.Usage != untold {
		return fmt.Errorf("the peer counted %+v, the reply says %+v", want, reply.Usage)
	}
	return nil
}

func lengthIsTold(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: Length, Text: someText}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, prompt(), nil)
	if err == nil && (reply.Stop != ports.StopLength || reply.Text != someText) {
		return fmt.Errorf("the peer cut %q at the limit; the reply is %s", someText, show(reply))
	}
	return err
}

func modelHasName(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	first, err := h.Model.Generate(ctx, prompt(), nil)
	if err != nil {
		return err
	}
	second, err := h.Model.Generate(ctx, prompt(), nil)
	if err != nil {
		return err
	}
	if first.Model == "" || first.Model != second.Model {
		return fmt.Errorf("two replies of one model name it %q and %q", first.Model, second.Model)
	}
	return nil
}

func manyAtOnce(ctx context.Context, h Harness) error {
	if err := h.prefer(ctx, Act{Do: Reply, Text: someText}); err != nil {
		return err
	}
	want, err := h.Model.Generate(ctx, prompt(), nil)
	if err != nil {
		return err
	}
	const many = 24
	errs := make([]error, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			deltas, reply, err := listen(ctx, h, prompt())
			switch {
			case err != nil:
				errs[i] = err
			case reply.Text != want.Text || strings.Join(deltas, "") != want.Text:
				errs[i] = fmt.Errorf("alone it said %q, among others %q (deltas %q)", want.Text, reply.Text, deltas)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// prompt is a request that any model can answer with words.
func prompt() ports.ModelRequest {
	return ports.ModelRequest{
		System:  "You are a test.",
		Entries: []ports.Entry{{Role: ports.RoleUser, Text: "Hello!"}},
	}
}

func listen(ctx context.Context, h Harness, r ports.ModelRequest) ([]string, ports.ModelReply, error) {
	var deltas []string
	reply, err := h.Model.Generate(ctx, r, func(d string) { deltas = append(deltas, d) })
	return deltas, reply, err
}

// goroutine names the goroutine it is called in, as "goroutine 7".
func goroutine() string {
	var buf [64]byte
	name, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte(" ["))
	return string(name)
}

func show(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(raw)
}

func isZero(r ports.ModelReply) bool { return reflect.ValueOf(r).IsZero() }
