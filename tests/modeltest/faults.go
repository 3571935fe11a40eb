package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/ports"
)

func faultRules() []Rule {
	fault := func(name, why string, act Act, kind ports.Kind) Rule {
		return Rule{name, why, func(ctx context.Context, h Harness) error { return fails(ctx, h, act, kind) }}
	}
	half := Act{Text: "Half an ans", Calls: twoCalls}
	does := func(do Do) Act { a := half; a.Do = do; return a }
	return []Rule{
		fault("a torn stream is no reply", "its calls may be half of what the model meant", does(Cut), ports.KindProtocol),
		fault("a stream without its mark is no reply", "a proxy that gives up ends it cleanly", does(Unmarked), ports.KindProtocol),
		fault("an empty stream is no reply", "the person would get an empty answer", does(Empty), ports.KindProtocol),
		fault("a broken frame is no reply", "what follows it is lost", does(BadFrame), ports.KindProtocol),
		fault("an error may come midway", "providers report overload inside a stream that began well", does(ErrorFrame), ports.KindTemporary),
		fault("a limit may come midway", "the core has to wait and not to give up", does(LimitFrame), ports.KindRateLimited),
		fault("a page is no reply", "captive portals and proxies answer 200 with HTML", does(HTML), ports.KindProtocol),
		fault("a JSON body is no reply", "some servers ignore that a stream was asked for", does(JSON), ports.KindProtocol),
		{"a rate limit names the wait", "the core waits as long as the provider asks", rateLimitNamesWait},
		fault("a server error is temporary", "the core tries again", does(ServerError), ports.KindTemporary),
		fault("overload is temporary", "the core tries again", does(Overloaded), ports.KindTemporary),
		fault("a gateway's error page is temporary", "the status counts, whatever the body looks like", does(HTMLError), ports.KindTemporary),
		fault("a refused key is unauthorized", "trying again is no use; the admin has to know", does(Unauthorized), ports.KindUnauthorized),
		fault("a missing model is not found", "the admin has to know", does(NotFound), ports.KindNotFound),
		fault("a bad request is invalid", "trying again is no use", does(Invalid), ports.KindInvalid),
		{"a refused tool is named", "the core leaves it out and tries again; one bad tool fails every request", refusedToolIsNamed},
		{"a bad request names no tool", "the core would leave out a tool that is fine", invalidNamesNoTool},
		fault("overflow is too large", "the core compacts the prompt and tries again", does(TooLarge), ports.KindTooLarge),
		fault("the filter is a refusal", "the person is told that the model declined", does(Filtered), ports.KindRefused),
		{"it does not retry", "one owner of retries: the core", doesNotRetry},
		{"secrets stay out of errors", "errors go to logs, and providers quote what they got", secretsStayOut},
	}
}

// fails checks a fault: its kind, its cause, and that nothing of the reply came out.
func fails(ctx context.Context, h Harness, act Act, kind ports.Kind) error {
	if err := h.script(ctx, act); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, callPrompt(), func(string) {})
	if err == nil {
		return fmt.Errorf("no error, but the reply %s", show(reply))
	}
	if got := ports.KindOf(err); got != kind {
		return fmt.Errorf("the kind is %s, not %s: %w", got, kind, unmarked(err))
	}
	if !isZero(reply) {
		return fmt.Errorf("beside the error stands a reply: %s", show(reply))
	}
	return wellFormed(err)
}

// wellFormed checks what holds for every error of the seam.
func wellFormed(err error) error {
	var e *ports.Error
	switch {
	case !errors.As(err, &e):
		return fmt.Errorf("no *ports.Error in %T: %w", err, unmarked(err))
	case e.Op == "":
		return fmt.Errorf("the error does not say what was being done: %w", unmarked(err))
	case e.Err == nil:
		return fmt.Errorf("the error has no cause: %w", unmarked(err))
	}
	return nil
}

func rateLimitNamesWait(ctx context.Context, h Harness) error {
	const wait = 7 * time.Second
	if err := fails(ctx, h, Act{Do: RateLimit, Wait: wait}, ports.KindRateLimited); err != nil {
		return err
	}
	_, err := h.Model.Generate(ctx, prompt(), nil)
	if got := ports.RetryAfter(err); got != wait {
		return fmt.Errorf("the peer asked for %s, the error says %s", wait, got)
	}
	return nil
}

func refusedToolIsNamed(ctx context.Context, h Harness) error {
	const bad = "b__odd"
	if err := h.script(ctx, Act{Do: BadTool, Tool: bad}); err != nil {
		return err
	}
	r := callPrompt()
	for _, name := range []string{bad, "c__fine"} {
		r.Tools = append(r.Tools, ports.ToolSpec{Name: name, Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	reply, err := h.Model.Generate(ctx, r, nil)
	if err == nil {
		return fmt.Errorf("no error, but the reply %s", show(reply))
	}
	var refused *ports.RefusedTool
	switch got := ports.KindOf(err); {
	case got != ports.KindInvalid:
		return fmt.Errorf("the kind is %s, not %s: %w", got, ports.KindInvalid, unmarked(err))
	case !errors.As(err, &refused):
		return fmt.Errorf("no tool is named: %w", unmarked(err))
	case refused.Name != bad:
		return fmt.Errorf("the peer does not take %q, the error names %q: %w", bad, refused.Name, unmarked(err))
	}
	return wellFormed(err)
}

func invalidNamesNoTool(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: Invalid}); err != nil {
		return err
	}
	_, err := h.Model.Generate(ctx, callPrompt(), nil)
	if refused := (*ports.RefusedTool)(nil); errors.As(err, &refused) {
		return fmt.Errorf("%q is blamed: %w", refused.Name, unmarked(err))
	}
	return nil
}

func doesNotRetry(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: ServerError}); err != nil {
		return err
	}
	if _, err := h.Model.Generate(ctx, prompt(), nil); err == nil {
		return errors.New("no error from a peer that fails")
	}
	seen, err := h.seen(ctx)
	if err != nil {
		return err
	}
	if seen.Requests != 1 {
		return fmt.Errorf("%d requests for one Generate", seen.Requests)
	}
	return nil
}

func secretsStayOut(ctx context.Context, h Harness) error {
	if h.Secret == "" {
		return fmt.Errorf("this model takes no secret: %w", errors.ErrUnsupported)
	}
	checked := false
	for _, do := range []Do{Unauthorized, ServerError, Invalid, RateLimit, HTML, JSON, BadFrame, ErrorFrame, Cut} {
		err := h.script(ctx, Act{Do: do, Text: "x"})
		if errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			return err
		}
		checked = true
		_, err = h.Model.Generate(ctx, prompt(), nil)
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, text := range []string{e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e)} {
				if strings.Contains(text, h.Secret) {
					return fmt.Errorf("after %q the error shows the secret", do)
				}
			}
		}
	}
	if !checked {
		return fmt.Errorf("this peer cannot fail: %w", errors.ErrUnsupported)
	}
	return nil
}

// unmarked keeps an adapter's own errors.ErrUnsupported from reading as a skip.
func unmarked(err error) error { return errors.New(err.Error()) }
