package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/ports"
)

// slot is what days are summed up from, in milliseconds: midnight is at the
// begin of a quarter of an hour in every time zone there is.
const slot = 15 * 60 * 1000

// usageKeys is the SQL of what usage is grouped by.
var usageKeys = map[ports.UsageBy]string{
	ports.UsageTotal:    `''`,
	ports.UsageByPerson: `person`,
	ports.UsageByChat:   `channel || ':' || chat`, // as ports.ChatKey
	ports.UsageByAgent:  `agent`,
	ports.UsageByModel:  `model`,
	ports.UsageByDay:    `at / ` + strconv.Itoa(slot),
	ports.UsageByTurn:   `turn`,
}

// Used sums what was booked. See ports.Usage.
func (s *Store) Used(ctx context.Context, q ports.UsageQuery) ([]ports.Used, error) {
	const op = "store used"
	key, ok := usageKeys[q.By]
	if !ok {
		return nil, ports.Errorf(ports.KindInvalid, op, "usage is not grouped by %q", q.By)
	}
	where, args := usageFilter(q)
	var out []ports.Used
	err := s.view(ctx, op, func(ctx context.Context, t *session) (err error) {
		if q.By == ports.UsageByDay {
			out, err = usageDays(ctx, t, where, args, q.Since.Location())
			return err
		}
		return usageGroups(ctx, t, key, where, args, func(key string, u ports.Used) {
			u.Key = key
			out = append(out, u)
		})
	})
	if err != nil {
		return nil, err
	}
	if q.By == ports.UsageTotal && len(out) == 0 {
		out = []ports.Used{{}}
	}
	slices.SortFunc(out, func(a, b ports.Used) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Input+b.Output, a.Input+a.Output), strings.Compare(a.Key, b.Key))
	})
	return out, nil
}

// usageFilter is the WHERE of a query. Its text has only the filters that are
// set, so that each finds its index.
func usageFilter(q ports.UsageQuery) (where string, args []any) {
	where, args = ` WHERE at >= $1`, []any{millis(q.Since)}
	for _, f := range []struct{ column, value string }{
		{"person", string(q.Person)}, {"channel", q.Channel}, {"chat", q.Chat}, {"agent", q.Agent},
	} {
		if f.value == "" {
			continue
		}
		args = append(args, f.value)
		where += ` AND ` + f.column + ` = $` + strconv.Itoa(len(args))
	}
	return where, args
}

// usageDays sums by the days of a time zone, which the database does not know.
func usageDays(ctx context.Context, t *session, where string, args []any, in *time.Location) (out []ports.Used, err error) {
	days := map[string]int{} // places in out
	err = usageGroups(ctx, t, usageKeys[ports.UsageByDay], where, args, func(at int64, u ports.Used) {
		day := time.UnixMilli(at * slot).In(in).Format(time.DateOnly)
		i, ok := days[day]
		if !ok {
			i = len(out)
			days[day] = i
			out = append(out, ports.Used{Key: day})
		}
		sum := &out[i]
		sum.Requests += u.Requests
		sum.Input += u.Input
		sum.CachedInput += u.CachedInput
		sum.CacheWrite += u.CacheWrite
		sum.Output += u.Output
		sum.Cost += u.Cost
		sum.Unpriced += u.Unpriced
	})
	return out, err
}

// usageGroups hands each group to take.
func usageGroups[K any](ctx context.Context, t *session, key, where string, args []any, take func(K, ports.Used)) error {
	return t.each(ctx, `SELECT `+key+`, COUNT(*), SUM(input), SUM(cached_input), SUM(cache_write), SUM(output), SUM(cost), SUM(1 - priced)
		FROM usage`+where+` GROUP BY 1`, args, func(scan scanner) error {
		var (
			k K
			u ports.Used
		)
		err := scan(&k, &u.Requests, &u.Input, &u.CachedInput, &u.CacheWrite, &u.Output, &u.Cost, &u.Unpriced)
		if err == nil {
			take(k, u)
		}
		return err
	})
}

// book books what requests to models used, each with the step that it was made
// for, of the steps from have on that this change adds. Where that step was there
// before, this is a write made again, and so is the booking.
func (c turnChange) book(ctx context.Context, t *session, have, steps int, now int64) error {
	for _, u := range c.Usage {
		if u.Step >= steps || u.Step < 0 {
			return fail(ports.KindInvalid, "usage is for step %d of turn %s, which this change does not add", u.Step, c.Turn)
		}
		if u.Step < have {
			continue
		}
		at := now
		if !u.At.IsZero() {
			at = millis(u.At)
		}
		if _, err := t.exec(ctx, `INSERT INTO usage (at, turn, step, person, channel, chat, agent, model, cost, priced, estimated, input, cached_input, cache_write, output)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
			at, c.Turn, u.Step, string(c.Person), c.lease.In.Channel, c.lease.In.Chat, u.Agent, u.Model,
			int64(u.Cost), flag(u.Priced), flag(u.Estimated), u.Input, u.CachedInput, u.CacheWrite, u.Output); err != nil {
			return err
		}
	}
	return nil
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}
