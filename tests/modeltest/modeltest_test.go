package modeltest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
)

// TestRulesHoldForASoundModel runs the kit against a model in memory.
func TestRulesHoldForASoundModel(t *testing.T) {
	m := &memory{}
	Run(t, m.harness())
}

type catch struct {
	flaw        flaw
	rule, words string
}

// caughtBy is, by flaw, a rule that must catch it and words of what it says: one
// that is caught for another reason is not caught.
var caughtBy = []catch{
	{dropsLastWord, "text is whole", "and ended; the reply is"},
	{deltasDiffer, "deltas are the text", "deltas give"},
	{oneDelta, "text arrives in pieces", "in 1 piece(s)"},
	{needsListener, "nobody has to listen", "no text in the reply"},
	{ownGoroutine, "onText is called by the caller", "called from goroutine"},
	{talksOn, "onText ends with Generate", "after Generate returned"},
	{forgetsUsage, "usage is passed on", "the reply says {Input:0"},
	{hidesLength, "length is told", "at the limit; the reply is"},
	{nameless, "the model has a name", "name it \"\" and"},
	{mixesUp, "many at once", "among others"},
	{changesArguments, "a call is whole", "arrived as {\"id\":\"call_1\""},
	{reversesCalls, "calls keep their order", "arrived as {\"id\":\"call_a\""},
	{dropsTextOfCalls, "text may stand beside calls", "the text beside the calls is \"\""},
	{emptyIDs, "calls always have ids", "call 0 has no id"},
	{sameIDs, "ids are unique", "two calls have the id"},
	{rawArguments, "arguments are always JSON", "are not JSON"},
	{nullArguments, "no arguments are an empty object", "a call without arguments became"},
	{takesTornStream, "a torn stream is no reply", "no error, but the reply"},
	{takesUnmarked, "a stream without its mark is no reply", "no error, but the reply"},
	{takesEmpty, "an empty stream is no reply", "no error, but the reply"},
	{skipsBadFrame, "a broken frame is no reply", "no error, but the reply"},
	{callsAllTemporary, "a limit may come midway", "the kind is temporary"},
	{takesPage, "a page is no reply", "no error, but the reply"},
	{takesJSON, "a JSON body is no reply", "no error, but the reply"},
	{forgetsWait, "a rate limit names the wait", "the error says 0s"},
	{callsAllInvalid, "a server error is temporary", "the kind is invalid"},
	{keepsHalf, "a refused key is unauthorized", "beside the error stands a reply"},
	{noCause, "a missing model is not found", "has no cause"},
	{plainErrors, "overload is temporary", "the kind is internal"},
	{retries, "it does not retry", "2 requests"},
	{quotesSecret, "secrets stay out of errors", "shows the secret"},
	{ignoresCancel, "a caller that left is cancelled", "no error, but the reply"},
	{cancelIsTemporary, "cancelling ends a stalled stream", "the kind is temporary"},
	{deadlineIsCancel, "a deadline is a timeout", "the kind is cancelled"},
	{leavesGoroutines, "nothing stays behind", "before 8 cancelled requests"},
	{refusesTools, "a whole history is taken", "tool entries"},
	{sortsTools, "tools go out as they are named", "asked with the tools"},
	{countsRequests, "equal requests are equal on the wire", "went out as"},
	{editsRequest, "the request stays as it was", "before:"},
	{dropsState, "its own state goes back", "did not come back"},
	{leaksState, "foreign state does not go out", "went to the peer"},
	{callsAllInvalid, "an error may come midway", "the kind is invalid"},
	{cancelIsTemporary, "cancelling ends the wait for an answer", "the kind is temporary"},
	{callsAllInvalid, "a gateway's error page is temporary", "the kind is invalid"},
	{callsAllTemporary, "a bad request is invalid", "the kind is temporary"},
	{callsAllTemporary, "overflow is too large", "the kind is temporary"},
	{callsAllTemporary, "the filter is a refusal", "the kind is temporary"},
	{swallowsLimit, "a rate limit names the wait", "no error, but the reply"},
	{copiesCause, "a caller that left is cancelled", "lost its cause"},
	{copiesCause, "a deadline is a timeout", "lost its cause"},
	{callsAnyway, "text alone is text alone", "asked for text alone"},
	{hidesTools, "tools stay listed without calls", "without []"},
	{tellsNobody, "tools stay listed without calls", "nothing tells the peer"},
	{cacheBeside, "cached tokens are part of the input", "the reply says {Input:34 "},
	{blamesFirst, "a refused tool is named", "the error names \"test__echo\""},
	{blamesNone, "a refused tool is named", "no tool is named"},
	{callsAllTemporary, "a refused tool is named", "the kind is temporary"},
	{blamesAlways, "a bad request names no tool", "\"test__echo\" is blamed"},
}

// TestRulesCatchABrokenModel breaks the model in one way at a time.
func TestRulesCatchABrokenModel(t *testing.T) {
	for _, c := range caughtBy {
		t.Run(string(c.flaw)+"/"+c.rule, func(t *testing.T) {
			i := slices.IndexFunc(Rules(), func(r Rule) bool { return r.Name == c.rule })
			if i < 0 {
				t.Fatalf("no rule %q", c.rule)
			}
			m := &memory{flaw: c.flaw, end: make(chan struct{})}
			defer close(m.end)
			err := Rules()[i].Check(t.Context(), m.harness())
			if err == nil || errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%q says %v, want %q", c.rule, err, c.words)
			}
		})
	}
}

// TestRulesAreNamedAndTried: a rule is found by its name, and shown to catch.
func TestRulesAreNamedAndTried(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if seen[r.Name] || r.Why == "" || r.Check == nil {
			t.Errorf("rule %q", r.Name)
		}
		seen[r.Name] = true
		if !slices.ContainsFunc(caughtBy, func(c catch) bool { return c.rule == r.Name }) {
			t.Errorf("no broken model tries the rule %q", r.Name)
		}
	}
}

// TestOnlyWhatIsThereIsAskedFor: a peer that does nothing on request, or tells
// nothing, costs the rules that need it; what is left holds.
func TestOnlyWhatIsThereIsAskedFor(t *testing.T) {
	needsPeer := func(name string) bool { return !slices.Contains(anyModel, name) }
	for lack, c := range map[string]struct {
		take    func(*Harness)
		skipped func(rule string) bool
	}{
		"Script": {func(h *Harness) { h.Script = nil }, needsPeer},
		"Seen":   {func(h *Harness) { h.Seen = nil }, func(name string) bool { return slices.Contains(seeing, name) }},
		"Secret": {func(h *Harness) { h.Secret = "" }, func(name string) bool { return name == "secrets stay out of errors" }},
	} {
		t.Run("without "+lack, func(t *testing.T) {
			for _, r := range Rules() {
				m := &memory{act: Act{Do: Reply, Text: someText}}
				h := m.harness()
				c.take(&h)
				if h.Script == nil && r.Name == "a call is whole" {
					m.act.Calls = callPromptCall
				}
				switch err := r.Check(t.Context(), h); {
				case c.skipped(r.Name) != errors.Is(err, errors.ErrUnsupported):
					t.Errorf("%s: %v", r.Name, err)
				case err != nil && !errors.Is(err, errors.ErrUnsupported):
					t.Errorf("%s: a sound model breaks it: %v", r.Name, err)
				}
			}
		})
	}
}

// anyModel is the rules that hold for a model without a peer to script.
var anyModel = []string{
	"deltas are the text", "text arrives in pieces", "nobody has to listen", "onText is called by the caller", "onText ends with Generate",
	"the model has a name", "many at once", "a call is whole", "a caller that left is cancelled", "a whole history is taken", "the request stays as it was",
	"text alone is text alone",
}

// seeing is the rules that look at what the peer got.
var seeing = []string{
	"it does not retry", "tools go out as they are named", "tools stay listed without calls", "equal requests are equal on the wire", "its own state goes back", "foreign state does not go out",
}

// callPromptCall is what a model without a script makes of callPrompt.
var callPromptCall = []ports.Call{{ID: "call_1", Name: "test__echo", Arguments: json.RawMessage(`{"text":"hi"}`)}}
