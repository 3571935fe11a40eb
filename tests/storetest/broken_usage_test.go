package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"dragoman/ports"
)

var usageCatches = []catch{
	{"usage/is summed by each word", "sums up all in one", "want [{Key:bob"},
	{"usage/is summed by each word", "shows the cheapest first", "want [{Key:bob"},
	{"usage/is summed by each word", "tells the threads of a chat apart", "want [{Key:chat:a Requests:3"},
	{"usage/is summed by each word", "forgets what was written to caches", "want [{Key: Requests:4"},
	{"usage/is summed by each word", "forgets the cost", "want [{Key: Requests:4"},
	{"usage/is summed by each word", "forgets usage at a crash", "want [{Key: Requests:4"},
	{"usage/is summed by each word", "groups by anything", "usage by what there is not"},
	{"usage/is summed of what is asked for", "counts everybody's money", "Person:ann"},
	{"usage/is summed of what is asked for", "takes a chat for another channel's", "Channel:chat Chat:a Agent: By:}"},
	{"usage/is summed of what is asked for", "counts every agent's money", "Agent:second"},
	{"usage/is summed of what is asked for", "has no sum of nothing", "Person:nobody Channel: Chat: Agent: By:}"},
	{"usage/counts from a moment on", "counts from the begin", "want [{Key: Requests:0"},
	{"usage/counts from a moment on", "counts the hour whole", "want [{Key: Requests:0"},
	{"usage/counts from a moment on", "dates usage by the commit", "want [{Key: Requests:1"},
	{"usage/days are those of a time zone", "has Greenwich's days", "hours from Greenwich"},
	{"usage/what has no price is counted apart", "takes the unpriced for free", "Unpriced:1}]"},
	{"usage/what has no price is counted apart", "takes the free for unpriced", "Unpriced:1}]"},
	{"usage/a write made again books nothing twice", "books at every write", "want [{Key: Requests:2"},
	{"usage/a write made again books nothing twice", "books one request for a step", "want [{Key: Requests:2"},
	{"usage/a write made again books nothing twice", "books again with what is new", "want [{Key: Requests:3"},
	{"usage/a write made again books nothing twice", "forgets what a finish books", "want [{Key: Requests:6"},
	{"usage/comes with its step", "books without a step", "book without a step"},
	{"usage/comes with its step", "books what it refuses", "want [{Key: Requests:0"},
}

// books is what the flaw makes of what a change books.
func (s *flawed) books(c *ports.Change) {
	switch s.flaw {
	case "books one request for a step":
		c.Usage = slices.CompactFunc(slices.Clone(c.Usage), func(a, b ports.Spent) bool { return a.Step == b.Step })
	case "dates usage by the commit":
		c.Usage = slices.Clone(c.Usage)
		for i := range c.Usage {
			c.Usage[i].At = time.Time{}
		}
	case "books without a step":
		last := -1
		for _, st := range c.Steps {
			last = max(last, st.Index)
		}
		c.Usage = slices.DeleteFunc(slices.Clone(c.Usage), func(u ports.Spent) bool { return u.Step > last || u.Step < 0 })
	case "forgets what a finish books":
		if len(c.Steps) > 0 && c.Steps[0].Kind == ports.StepFinal {
			c.Usage = nil
		}
	}
}

// booked notes what the flaw books a second time.
func (s *flawed) booked(c ports.Change, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.has("books what it refuses") && ports.IsKind(err, ports.KindInvalid):
		s.extra = append(s.extra, c.Usage...)
	case err != nil:
	case s.has("books at every write"), s.has("books again with what is new") && len(c.Steps) > 1:
		for _, u := range c.Usage {
			if s.paid[u.Step] {
				s.extra = append(s.extra, u)
			}
		}
	}
	if err == nil {
		for _, u := range c.Usage {
			s.paid[u.Step] = true
		}
	}
}

func (s *flawed) Used(ctx context.Context, q ports.UsageQuery) ([]ports.Used, error) {
	by := q.By
	switch s.flaw {
	case "sums up all in one":
		q.By = ports.UsageTotal
	case "tells the threads of a chat apart":
		if by == ports.UsageByChat {
			q.By = ports.UsageByTurn
		}
	case "groups by anything":
		if by == "moon" {
			return nil, nil
		}
	case "counts everybody's money":
		q.Person = ""
	case "takes a chat for another channel's":
		q.Channel = ""
	case "counts every agent's money":
		q.Agent = ""
	case "counts from the begin":
		q.Since = time.Time{}
	case "counts the hour whole":
		q.Since = q.Since.Truncate(time.Hour).Add(-time.Hour)
	case "has Greenwich's days":
		q.Since = q.Since.UTC()
	}
	got, err := s.Store.Used(ctx, q)
	if s.has("tells the threads of a chat apart") && by == ports.UsageByChat {
		got = regroup(got)
	}
	return s.misreadUsed(got), err
}

func (s *flawed) misreadUsed(got []ports.Used) []ports.Used {
	switch s.flaw {
	case "shows the cheapest first":
		slices.Reverse(got)
	case "forgets usage at a crash":
		if s.life > 1 {
			return nil
		}
	case "has no sum of nothing":
		got = slices.DeleteFunc(got, func(u ports.Used) bool { return u.Requests == 0 })
	}
	for i := range got {
		u := &got[i]
		switch s.flaw {
		case "forgets what was written to caches":
			u.CacheWrite = 0
		case "forgets the cost":
			u.Cost = 0
		case "takes the unpriced for free":
			u.Unpriced = 0
		case "takes the free for unpriced":
			u.Unpriced++
		}
		for _, more := range s.extra {
			u.Requests++
			u.Cost += more.Cost
		}
	}
	return got
}

// regroup sums turns by their conversation, threads and all.
func regroup(turns []ports.Used) []ports.Used {
	by := map[string]ports.Used{}
	for _, t := range turns {
		in, _, _ := strings.Cut(t.Key, "#")
		sum := by[in]
		sum.Key, sum.Requests, sum.Cost = in, sum.Requests+t.Requests, sum.Cost+t.Cost
		by[in] = sum
	}
	return slices.SortedFunc(maps.Values(by), func(a, b ports.Used) int { return cmp.Compare(b.Cost, a.Cost) })
}
