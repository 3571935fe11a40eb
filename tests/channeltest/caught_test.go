package channeltest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bugs by the rule that must catch them, each with words of what the rule says:
// one that is caught for another reason is not caught. Every rule is here.
var bugs = map[string]map[string]string{
	"message-fields":             {"no sender": `From is ""`},
	"text-unharmed":              {"trims": `came in as "two lines"`},
	"order-kept":                 {"reverses": `want "message `},
	"events-unique":              {"one event for equal texts": "two equal messages: 2 of 3 messages came through"},
	"people-apart":               {"mixes people up": "two private chats are both"},
	"stored-before-acknowledged": {"drops what is refused": "after Receive failed three times"},
	"same-event-again":           {"renames on redelivery": "the message came as event"},
	"refusal-is-paced":           {"hammers": "a failing Receive was called"},
	"unstored-survives-restart":  {"acknowledges first": "after a restart: 0 of 1 messages came through"},
	"restart-resumes":            {"starts at the end": "what was said while the gateway was down: 0 of 1"},
	"cursor-fault-waited-out":    {"ends without cursor": "0 of 1 messages came through"},
	"outage-waited-out":          {"ends in outage": "0 of 1 messages came through"},
	"noise-blocks-nothing":       {"chokes on noise": "behind events that nobody knows"},
	"group-addressing": {
		"always addressed": "Addressed is set on what was not said to the bot",
		"mixes people up":  "the group and a private chat are one conversation",
	},
	"traits-fixed": {
		"moody traits":     "and then",
		"no end of a pace": "GroupEditEvery is 1h0m0s",
	},
	"traits-agree": {
		"paces edits that it cannot make": "the channel is no Editor",
		"faster in groups":                "is below EditEvery",
		"edits in groups alone":           "without an EditEvery",
	},
	"run-ends-idle": {
		"leaks":   "1 goroutines that it started outlive it",
		"stays":   "Run still runs",
		"odd end": "Run returned stopped",
	},
	"run-ends-while-refused": {"stays while refused": "Run still runs"},
	"run-ends-in-outage": {
		"ends in outage": "Run returned memory: the platform says outage",
		"stays":          "Run still runs",
	},
	"run-again": {"runs once": "in run 2"},
	"refused-token-ends-run": {
		"tries a refused token": "Run goes on",
		"bare errors":           "kind is internal",
	},
	"send-shows": {
		"wrong chat": "the chat shows 0 messages",
		"one id":     "two messages have the id",
	},
	"send-as-it-is":      {"eats markup": "\"unclosed  `"},
	"send-without-run":   {"sends only while it runs": "not running"},
	"send-in-parallel":   {"one id": "40 messages have 1 ids"},
	"longest-text-whole": {"cuts early": "(180 bytes)"},
	"longer-text-cut":    {"halves characters": `a text of many "日" is not shown up to the limit`},
	"reply-accepted":     {"refuses replies": "the platform says gone"},
	"ended-context-sends-nothing": {
		"sends for the departed": "there was no error",
		"copies the cause":       `lost its cause, "context canceled"`,
	},
	"cancel-ends-send": {
		"hangs":            "a cancelled Send: it took",
		"copies the cause": `lost its cause, "context canceled"`,
	},
	"send-leaves-nothing": {"leaks sends": "40 goroutines that it started outlive it"},
	"nonce-drops-doubles": {"ignores the nonce": "the same delivery has the ids"},
	"rate-limit-kind": {
		"swallows a 429":    "Send succeeded under rate_limit",
		"retries by itself": "Send succeeded under rate_limit",
		"forgets how long":  "RetryAfter is 0s",
		"bare errors":       "kind is internal",
		"loses the cause":   "the error lost its cause",
	},
	"wide-limit-is-wide": {
		"holds one chat alone": "the error is not Wide",
		"forgets how long":     "which only a rate limit with a time to wait can be",
	},
	"forbidden-kind": {
		"retries the blocked": "kind is temporary",
		"holds all for one":   "which only a rate limit with a time to wait can be",
	},
	"gone-kind":          {"retries the blocked": "kind is temporary"},
	"unauthorized-kind":  {"retries the blocked": "kind is temporary"},
	"outage-kind":        {"gives up": "kind is invalid"},
	"cut-is-unsure":      {"sure": "kind is temporary"},
	"works-after-faults": {"stuck after a fault": "after rate_limit: Send failed"},
	"secrets-kept":       {"tells the token": "a secret is in"},
	"texts-kept":         {"logs texts": "a text is logged above debug"},
	"press-comes-back": {
		"shows no buttons":  "want the buttons",
		"hears no press":    `pressed "Yes, go on": 1 of 2 messages came through`,
		"forgets the field": "Field: Value:yes",
	},
	"longest-choice":         {"short choices": "Value:vvvvvvvvvv Label:}, want"},
	"press-events-unique":    {"one event per button": "2 of 3 messages came through"},
	"press-stored-first":     {"drops what is refused": "1 of 2 messages came through"},
	"edit-replaces":          {"edits by posting": "the chat shows 3 messages"},
	"edit-to-the-same":       {"refuses the same": "not modified"},
	"edit-takes-buttons-off": {"keeps buttons": "want the buttons []"},
	"edit-after-restart":     {"edits its own only": "the platform says forbidden"},
	"edit-of-gone":           {"edits what is gone": "there was no error"},
	"typing-works": {
		"types by posting": "typing left 1 messages",
		"types nothing":    "the person does not see it",
	},
	"draft-then-send": {"leaves drafts": "the chat shows 4 messages"},
	"react-works":     {"cannot react": "React failed"},
	"render-makes-parts": {
		"buttons first": "part 1 of 3 has 3 choices",
		"no body":       "it has no Body",
	},
	"render-loses-nothing": {"splits badly": "the parts are not the whole"},
	"upload-shows": {
		"leaves files open":   "opened 1 times and closed 0 times",
		"posts files as text": "and not the",
		"loses captions":      `beside it stands ""`,
	},
	"upload-unreadable": {
		"forgets why":          "kind is invalid",
		"posts half of a file": "1 files that could not be read",
	},
	"attachment-opens": {
		"loses files":                   "one file was sent, 0 came in",
		"reads as text":                 "the file reads as",
		"opens nothing after a restart": "Open failed",
	},
}

func TestBrokenChannelsAreCaught(t *testing.T) {
	for _, r := range Rules() {
		if len(bugs[r.Name]) == 0 {
			t.Errorf("no broken channel tries the rule %s", r.Name)
		}
		for bug, words := range bugs[r.Name] {
			t.Run(r.Name+"/"+bug, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					err := r.Check(t.Context(), harness(bug, "", 900*time.Millisecond))
					time.Sleep(3 * time.Second) // until what outlives the rule has ended, too
					if err == nil || errors.Is(err, ErrNotApplicable) || !strings.Contains(err.Error(), words) {
						t.Errorf("a channel that %q: the rule says %v, want %q", bug, err, words)
					}
				})
			})
		}
	}
}

// neededBy is which rules need what a channel or its platform may lack.
var neededBy = map[string][]string{
	"Editor":   {"edit-replaces", "edit-to-the-same", "edit-takes-buttons-off", "edit-after-restart", "edit-of-gone"},
	"Typer":    {"typing-works"},
	"Drafter":  {"draft-then-send"},
	"Reactor":  {"react-works"},
	"Renderer": {"render-makes-parts", "render-loses-nothing"},
	"Opener":   {"attachment-opens"},
	"buttons":  {"press-comes-back", "longest-choice", "press-events-unique", "press-stored-first", "edit-takes-buttons-off"},
	"limit":    {"longer-text-cut"},
	"groups":   {"group-addressing"},
	"noise":    {"noise-blocks-nothing"},
	"deletes":  {"edit-of-gone"},
	"files":    {"attachment-opens", "upload-shows", "upload-unreadable"},
	"Uploader": {"upload-shows", "upload-unreadable"},
	"secrets":  {"secrets-kept"},
	"nonce":    {"nonce-drops-doubles"},
	"faults": {
		"outage-waited-out", "run-ends-in-outage", "refused-token-ends-run", "cancel-ends-send", "send-leaves-nothing", "rate-limit-kind",
		"wide-limit-is-wide", "forbidden-kind", "gone-kind", "unauthorized-kind", "outage-kind", "cut-is-unsure", "works-after-faults",
	},
}

// TestOnlyWhatIsThereIsAskedFor: what is lacking costs the rules that need it,
// and no others; what is left is right.
func TestOnlyWhatIsThereIsAskedFor(t *testing.T) {
	var all []string
	for _, needing := range neededBy {
		all = append(all, needing...)
	}
	t.Run("with none of it", func(t *testing.T) { t.Parallel(); skips(t, everything, all, Rules()) })
	picky := slices.DeleteFunc(Rules(), func(r Rule) bool { return r.Name != "traits-agree" && !slices.Contains(all, r.Name) })
	for lack, needing := range neededBy {
		t.Run("without "+lack, func(t *testing.T) { t.Parallel(); skips(t, lack, needing, picky) })
	}
}

func skips(t *testing.T, lack string, needing []string, rules []Rule) {
	for _, r := range rules {
		synctest.Test(t, func(t *testing.T) {
			switch err := r.Check(t.Context(), harness("", lack, 0)); {
			case slices.Contains(needing, r.Name) != errors.Is(err, ErrNotApplicable):
				t.Errorf("%s: %v", r.Name, err)
			case err != nil && !errors.Is(err, ErrNotApplicable):
				t.Errorf("%s: a right channel breaks it: %v", r.Name, err)
			}
		})
	}
}
