package toolsourcetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

func TestGoodSourcePasses(t *testing.T) { Run(t, modelHarness("")) }

// caughtBy is, by fault, the rule that is there for it and words of what it says:
// a fault that is caught for another reason is not caught.
var caughtBy = map[string]struct{ rule, words string }{
	"new starts":           {"new_does_nothing", "it left behind"},
	"ready first":          {"registers_before_ready", "ready before any tool"},
	"no stopped":           {"phases_in_order", "the last phase is"},
	"silent loss":          {"phases_in_order", "does not say why"},
	"stays":                {"run_ends_with_context", "Run did not return"},
	"own error":            {"run_ends_with_context", "Run returned done"},
	"leaks":                {"run_leaves_nothing", "it left behind"},
	"late":                 {"run_quiet_after_return", "used 1 times after Run"},
	"ended context":        {"run_with_ended_context", "it connected although"},
	"one run":              {"run_twice", "run 2"},
	"schema":               {"specs_complete", "is no object"},
	"twice":                {"specs_unique", "it is there twice"},
	"spec changes":         {"specs_stable", "the specs of the same tools changed"},
	"order":                {"specs_same_next_time", "registered other specs"},
	"server":               {"server_left_empty", "Server is"},
	"class":                {"class_unsafe_unless_trusted", "it is of class read"},
	"others' results":      {"calls_get_their_own_results", "call "},
	"failure is an error":  {"tool_failure_is_a_result", "it is an error"},
	"bad arguments":        {"bad_arguments_are_contained", "give kind internal"},
	"refusal":              {"refusal_is_invalid", "kind protocol"},
	"calls when ended":     {"call_with_ended_context", "no error, want kind cancelled"},
	"loses the cause":      {"cancelled_call_returns", "has lost its cause"},
	"slow to end":          {"cancelled_call_returns", "it took 12"},
	"timeout is cancel":    {"deadline_is_timeout", "kind cancelled"},
	"waits for the dead":   {"loss_fails_calls_in_flight", "only after more than 10s"},
	"sure of the lost":     {"loss_fails_calls_in_flight", "kind unavailable"},
	"unsure of the unsent": {"call_without_peer_is_unavailable", "kind unsure"},
	"tools go":             {"loss_keeps_tools", "0 tools were registered after the loss"},
	"calls nobody":         {"stopped_source_is_unavailable", "no error, want kind unavailable"},
	"reconnect lies":       {"reconnect_works", "right after Reconnect"},
	"reconnect idle":       {"reconnect_without_run", "want kind unavailable"},
	"does nothing":         {"call_works", "not yet written"},
	"never ready":          {"ready_within_patience", "not ready within"},
	"stays lost":           {"loss_is_told_and_mended", "not ready within"},
	"of one connection":    {"old_tools_work_again", "registered before the loss"},
	"gives up for all":     {"giving_up_harms_nobody_else", "after slow calls were given up"},
	"registers late":       {"run_quiet_after_return", "used 1 times after Run"},
	"call leaks":           {"given_up_calls_leave_nothing", "it left behind"},
	"completion order":     {"calls_get_their_own_results", "a slow call gave what is another's"},
	"prompts alone":        {"offers_what_it_reads", "is no PromptSource"},
	"resources alone":      {"offers_what_it_reads", "is no ResourceSource"},
}

func TestBrokenSourcesAreCaught(t *testing.T) {
	rules := make(map[string]Rule)
	tried := make(map[string]bool)
	for _, c := range caughtBy {
		tried[c.rule] = true
	}
	for _, r := range Rules() {
		if r.Why == "" || r.Name != strings.ToLower(r.Name) || rules[r.Name].Name != "" {
			t.Errorf("rule %q has no reason, or no name of its own", r.Name)
		}
		if !tried[r.Name] {
			t.Errorf("no broken source tries the rule %s", r.Name)
		}
		rules[r.Name] = r
	}
	for broken, by := range caughtBy {
		t.Run(broken, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // faults of time show at once
				err := rules[by.rule].Check(t.Context(), modelHarness(broken))
				if err == nil || errors.Is(err, ErrSkip) || !strings.Contains(err.Error(), by.words) {
					t.Errorf("%s says %v, want %q", by.rule, err, by.words)
				}
				<-time.After(time.Minute) // what was left behind has ended
			})
		})
	}
}

// neededBy is which rules need what a harness or a source may lack.
var neededBy = map[string][]string{
	"Failing":     {"tool_failure_is_a_result"},
	"Refused":     {"refusal_is_invalid"},
	"Slow":        {"cancelled_call_returns", "deadline_is_timeout", "given_up_calls_leave_nothing", "giving_up_harms_nobody_else", "loss_fails_calls_in_flight"},
	"Kill":        {"loss_fails_calls_in_flight", "call_without_peer_is_unavailable", "loss_keeps_tools", "loss_is_told_and_mended", "old_tools_work_again", "stopped_source_is_unavailable"},
	"Reconnector": {"reconnect_works", "reconnect_without_run"},
}

// TestOnlyWhatIsThereIsAskedFor: what is lacking costs the rules that need it, and
// no others; what is left is right.
func TestOnlyWhatIsThereIsAskedFor(t *testing.T) {
	lacking := map[string]func(*Harness){
		"Failing": func(h *Harness) { h.Failing = nil },
		"Refused": func(h *Harness) { h.Refused = nil },
		"Slow":    func(h *Harness) { h.Slow = nil },
		"Kill":    func(h *Harness) { h.Kill = nil },
		"Reconnector": func(h *Harness) {
			made, kill := h.New, h.Kill
			h.New = func() (ports.ToolSource, error) { s, err := made(); return bare{s}, err }
			if kill != nil {
				h.Kill = func(s ports.ToolSource) error { return kill(s.(bare).ToolSource) }
			}
		},
	}
	for lack, take := range lacking {
		t.Run("without "+lack, func(t *testing.T) {
			for _, r := range Rules() {
				synctest.Test(t, func(t *testing.T) {
					h := modelHarness("")
					take(&h)
					switch err := r.Check(t.Context(), h); {
					case slices.Contains(neededBy[lack], r.Name) != errors.Is(err, ErrSkip):
						t.Errorf("%s: %v", r.Name, err)
					case err != nil && !errors.Is(err, ErrSkip):
						t.Errorf("%s: a right source breaks it: %v", r.Name, err)
					}
				})
			}
		})
	}
}

// bare hides the abilities of a source.
type bare struct{ ports.ToolSource }
