package modeltest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// parrot is a model that says what it heard, a word at a time, and calls no tools.
// It has one fault.
type parrot struct{}

func (parrot) Generate(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	if err := ctx.Err(); err != nil {
		return ports.ModelReply{}, &ports.Error{Kind: ports.KindTemporary, Op: "parrot", Err: err} // the fault
	}
	text := "You said: " + r.Entries[len(r.Entries)-1].Text
	if onText != nil {
		for _, word := range strings.SplitAfter(text, " ") {
			onText(word)
		}
	}
	return ports.ModelReply{Text: text, Model: "parrot", Stop: ports.StopEnd}, nil
}

// In a test, modeltest.Run(t, h) is all. Here the rules are gone through by hand:
// those that are broken say what is wrong, and why it matters.
//
// A parrot has no provider whose streams could be torn; an adapter that has one
// says in Harness.Script how its stand-in misbehaves, and far more rules apply.
func Example() {
	h := modeltest.Harness{Model: parrot{}}
	for _, rule := range modeltest.Rules() {
		err := rule.Check(context.Background(), h)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			fmt.Printf("%s\n  because %s\n  but %v\n", rule.Name, rule.Why, err)
		}
	}
	// Output:
	// a call is whole
	//   because the tool runs with exactly what the model asked for
	//   but no calls in {"text":"You said: call test__echo {\"text\":\"hi\"}","model":"parrot","stop":"end","usage":{"input":0,"output":0}}
	// a caller that left is cancelled
	//   because a person who says stop does not wait for a provider
	//   but the kind is temporary, not cancelled: parrot: context canceled
}
