package gateway

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"dragoman/core/inbox"
	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// usageDays is how many days /usage looks back, today among them.
const usageDays = 30

// usage is the answer to /usage: in private what its person used, in a group what
// the chat did, and what the day's caps leave.
func (g *Gateway) usage(ctx context.Context, r request) (inbox.Answer, error) {
	now := time.Now()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	q, whose := ports.UsageQuery{Channel: r.In.Channel, Chat: r.In.Chat}, "this chat"
	if r.Private {
		q, whose = ports.UsageQuery{Person: r.Person}, "you"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "What %s used:\n\n", whose)
	for _, period := range []struct {
		name  string
		since time.Time
	}{{"Today", today}, {fmt.Sprintf("The last %d days", usageDays), today.AddDate(0, 0, 1-usageDays)}} {
		q.Since, q.By = period.since, ports.UsageByModel
		list, err := g.used(ctx, q)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "- %s: %s\n", period.name, spent(list))
	}
	caps, err := g.capsLeft(ctx, r, today)
	if err != nil {
		return nil, err
	}
	if len(caps) > 0 {
		b.WriteString("\nWhat may be spent in a day:\n\n- " + strings.Join(caps, "\n- "))
	}
	return said(b.String()), nil
}

func (g *Gateway) used(ctx context.Context, q ports.UsageQuery) ([]ports.Used, error) {
	return guard.Read(ctx, &g.leaks, "store_usage", func(ctx context.Context) ([]ports.Used, error) { return g.opt.Usage.Used(ctx, q) })
}

// spent words what was used, by model. Of which models the price is not known is
// said, for the sum lacks them.
func spent(list []ports.Used) string {
	var all ports.Used
	var unpriced []string
	for _, u := range list {
		all.Requests += u.Requests
		all.Input += u.Input
		all.CachedInput += u.CachedInput
		all.Output += u.Output
		all.Cost += u.Cost
		all.Unpriced += u.Unpriced
		if u.Unpriced > 0 {
			unpriced = append(unpriced, "`"+cmp.Or(u.Key, "?")+"`")
		}
	}
	if all.Requests == 0 {
		return "nothing"
	}
	cost := all.Cost.String()
	switch {
	case all.Unpriced == all.Requests:
		cost = "at a price that I do not know"
	case all.Unpriced > 0:
		cost += " and what " + strings.Join(unpriced, ", ") + " cost, whose price I do not know"
	}
	cached := ""
	if all.CachedInput > 0 {
		cached = " (" + grouped(all.CachedInput) + " of them cached)"
	}
	requests := grouped(all.Requests) + " requests"
	if all.Requests == 1 {
		requests = "1 request"
	}
	return fmt.Sprintf("%s, for %s tokens read%s and %s written in %s to models", cost, grouped(all.Input), cached, grouped(all.Output), requests)
}

// capsLeft words the caps that hold for who asks. A person's own sum is shown to
// nobody else, and what others spent to admins alone, in private: of the caps that
// many share, everybody else learns that they are reached.
func (g *Gateway) capsLeft(ctx context.Context, r request, today time.Time) ([]string, error) {
	overall := r.Private && r.Role == ports.RoleAdmin
	var list []string
	for _, c := range []struct {
		what  string
		most  ports.Money
		query ports.UsageQuery
		shown bool
	}{
		{"you", g.opt.Caps.Person, ports.UsageQuery{Person: r.Person}, r.Private},
		{"this chat", g.opt.Caps.Chat, ports.UsageQuery{Channel: r.In.Channel, Chat: r.In.Chat}, true},
		{"the agent `" + r.agent.Name + "`", g.opt.Caps.Agent, ports.UsageQuery{Agent: r.agent.Name}, overall},
		{"all together", g.opt.Caps.Total, ports.UsageQuery{}, overall},
	} {
		if c.most <= 0 {
			continue
		}
		c.query.Since = today
		sums, err := g.used(ctx, c.query)
		if err != nil {
			return nil, err
		}
		left := c.most
		for _, u := range sums {
			left -= u.Cost
		}
		switch {
		case c.shown:
			list = append(list, fmt.Sprintf("by %s: %s, of which %s is left today", c.what, c.most, max(0, left)))
		case left <= 0:
			list = append(list, fmt.Sprintf("by %s: nothing more today", c.what))
		}
	}
	return list, nil
}

// grouped writes a number with its thousands apart.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
