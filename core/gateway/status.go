package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/core/inbox"
	"dragoman/ports"
)

// status is the answer to /status: how the conversation is set, and what it is at
// by the word of the commit. What concerns the whole gateway is for admins, where
// nobody else reads it.
func (g *Gateway) status(ctx context.Context, r request) (inbox.Answer, error) {
	chosen, err := g.chosen(ctx, r.In)
	if err != nil {
		return nil, err
	}
	model, whose := chosen.Model, ", chosen for this conversation"
	if model == "" {
		model, whose = usualModel(r.agent), ""
	}
	lines := []string{
		fmt.Sprintf("Agent: `%s`", r.agent.Name),
		fmt.Sprintf("Model: `%s`%s%s", model, whose, r.agent.trouble(model)),
		"Busy mode: " + busyHere(r.agent, chosen),
	}
	var last []string
	if tokens, window := g.running[r.agent.Name].Fullness(r.In); tokens > 0 {
		last = append(last, "Context: "+share(tokens, window)+" of what the model can hold")
	}
	if r.Role == ports.RoleAdmin {
		last = append(last, fmt.Sprintf("Chat: `%s` of channel `%s`", r.In.Chat, r.In.Channel))
	}
	if r.Role == ports.RoleAdmin && r.Private {
		last = slices.Concat(last, refused(r.agent), g.notReady())
	}
	if g.opt.Version != "" {
		last = append(last, "Version: "+g.opt.Version)
	}
	now := time.Now()
	return func(s ports.Sight) string {
		all := slices.Concat(lines, at(s, r.Person, now), last)
		return "- " + strings.Join(all, "\n- ")
	}, nil
}

// share words how much of a window is full.
func share(tokens, window int) string {
	if percent := 100 * tokens / window; percent > 0 {
		return fmt.Sprintf("about %d %%", percent)
	}
	return "less than 1 %"
}

// at is what the conversation is at, for a person of it.
func at(s ports.Sight, person ports.PersonID, now time.Time) []string {
	var list []string
	switch {
	case s.Open != nil:
		list = append(list, fmt.Sprintf("A question of mine has been open for %s", ago(now.Sub(s.Open.Asked))))
	case s.Turn != nil && s.Turn.Person == person:
		list = append(list, fmt.Sprintf("I have been at work for %s: /stop stops it", ago(now.Sub(s.Turn.Started))))
	case s.Turn != nil:
		list = append(list, fmt.Sprintf("I have been at work for somebody else for %s", ago(now.Sub(s.Turn.Started))))
	case s.Waiting != nil && s.Waiting() > 0: // a turn has no row before its first commit
		return append(list, "I am at work on what was written last: /stop stops it")
	default:
		list = append(list, "I am at rest")
	}
	if s.Waiting == nil {
		return list
	}
	switch n := s.Waiting(); {
	case n >= ports.MaxCounted:
		list = append(list, fmt.Sprintf("%d messages wait, or more", n))
	case n > 1:
		list = append(list, fmt.Sprintf("%d messages wait", n))
	case n == 1:
		list = append(list, "1 message waits")
	}
	return list
}

// refused are the tools that the agent's models do not take, one model a line.
func refused(a Agent) []string {
	var list []string
	for _, m := range a.Models {
		if names := m.Health.Refused(); len(names) > 0 {
			list = append(list, fmt.Sprintf("Model `%s` refuses the tools `%s`", m.Name, strings.Join(names, "`, `")))
		}
	}
	return list
}

// notReady are the servers that calls cannot use now, one a line.
func (g *Gateway) notReady() []string {
	var list []string
	for _, s := range g.tools.Servers() {
		if s.Name != "" && s.Phase != ports.PhaseReady && s.Phase != ports.PhaseIdle {
			list = append(list, fmt.Sprintf("Server `%s` is not ready: %s", s.Name, s.Phase))
		}
	}
	return list
}

// ago words a time that has gone by, roughly.
func ago(d time.Duration) string {
	switch d = max(0, d); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
}
