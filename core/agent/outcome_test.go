package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// everyKind walks the kinds until one has no name.
func everyKind() []ports.Kind {
	var list []ports.Kind
	for k := ports.Kind(0); !strings.HasPrefix(k.String(), "kind("); k++ {
		list = append(list, k)
	}
	return list
}

// plain is a sentence or two of words that anybody knows, perhaps with the command
// that helps, and the reference.
var plain = regexp.MustCompile(`^[A-Z](?:[A-Za-z0-9',;. ]| /new )+\.\n\nReference: [a-z2-7]{6}$`)

func TestEveryFailureHasAPlainSentence(t *testing.T) {
	const secret = "sk-4711 POST /v1/chat panic: goroutine 7"
	failures := map[string]error{
		"no kind":      errors.New(secret),
		"too many":     fmt.Errorf("%s: %w", secret, errTooManySteps),
		"too long":     fmt.Errorf("%s: %w", secret, errTooLong),
		"died often":   fmt.Errorf("%s: %w", secret, errDeadly),
		"unknown kind": ports.Errorf(ports.Kind(200), secret, secret),
	}
	for _, k := range everyKind() {
		failures[k.String()] = ports.Errorf(k, secret, secret)
	}
	for name, failure := range failures {
		tn := &turn{Agent: &Agent{cfg: Config{MaxSteps: 20, TurnTimeout: 10 * time.Minute}}, id: "chat:ann#1", log: slog.New(slog.DiscardHandler)}
		end := tn.failed(failure)
		if end.outcome != ports.OutcomeFailed || end.kind == "" {
			t.Errorf("%s ends as %+v", name, end)
		}
		if !plain.MatchString(end.text) || !strings.HasSuffix(end.text, "Reference: "+ports.Ref(tn.id)) {
			t.Errorf("%s reads %q", name, end.text)
		}
		for _, word := range strings.Fields(secret) {
			if strings.Contains(end.text, word) {
				t.Errorf("%s shows %q of its cause: %q", name, word, end.text)
			}
		}
	}
}

func TestEveryKindHasOneRow(t *testing.T) {
	rows := map[ports.Kind]int{}
	for _, s := range sentences {
		if s.cause == nil {
			rows[s.kind]++
		}
	}
	for _, k := range everyKind() {
		if rows[k] != 1 {
			t.Errorf("kind %s has %d rows", k, rows[k])
		}
	}
	if len(everyKind()) < 16 {
		t.Errorf("only %d kinds are known", len(everyKind()))
	}
}

func TestARequestsOutcomeForTheMeter(t *testing.T) {
	for want, err := range map[string]error{
		"ok":           nil,
		"cancelled":    errStopped,
		"rate_limited": ports.Errorf(ports.KindRateLimited, "model", "429"),
		"internal":     errors.New("what"),
	} {
		if got := asked(err); got != want {
			t.Errorf("%v counts as %q, want %q", err, got, want)
		}
	}
	if got := asked(&storeFault{ports.Errorf(ports.KindFenced, "load", "gone")}); got != "cancelled" {
		t.Errorf("a lost lease counts as %q: it was not the model", got)
	}
}
