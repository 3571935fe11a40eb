package gateway_test

import (
	"strings"
	"testing"

	"dragoman/core/agent"
	"dragoman/ports"
)

// A conversation whose agent gets a model with a window that is smaller than its
// memo is compacted again.
func TestAMemoOfALargerWindowIsTakenOverInPart(t *testing.T) {
	k := newTalk(t, 60000)
	k.clerk.dumb = func() (ports.ModelReply, error) {
		return ports.ModelReply{Text: strings.Repeat("Something about the river that has to be remembered. ", 240), Model: "clerk/1", Stop: ports.StopEnd}, nil
	}
	for range 40 {
		k.says(strings.Repeat("I walked along the river and thought about nothing much. ", 20))
	}
	if got := k.says("/compact"); !strings.HasPrefix(got, "Compacted: ") {
		t.Fatalf("it says %q", got)
	}
	k.end()
	k.clerk.window, k.clerk.longest, k.clerk.dumb = 4096, 600, nil
	k.agent = func(c *agent.Config) { c.Models[0].ContextTokens, c.Models[0].Facts = 4096, k.clerk.Facts() }
	k.live()
	for range 10 {
		k.says(strings.Repeat("I walked along the river and thought about nothing much. ", 20))
	}
	if k.clerk.asked < 2 || k.clerk.refused > 4 {
		t.Errorf("%d summaries were made and %d prompts beyond the window", k.clerk.asked, k.clerk.refused)
	}
	if got := k.says("/compact"); !strings.HasPrefix(got, "Compacted: ") {
		t.Errorf("it says %q", got)
	}
	k.settled()
	k.end()
}
