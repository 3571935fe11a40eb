package storetest

import (
	"context"
	"errors"
	"slices"

	"dragoman/ports"
)

func (s *flawed) Claim(ctx context.Context, limit int) ([]ports.Lease, error) {
	if s.has("claims beyond its limit") {
		limit = 1000
	}
	got, err := s.Store.Claim(ctx, limit)
	s.mu.Lock()
	again := slices.Clone(s.handled)
	s.mu.Unlock()
	got = s.lend(got)
	switch s.flaw {
	case "claims nothing after its end":
		return got, nil
	case "never claims":
		return nil, err
	case "forgets one at a crash":
		if s.life > 1 && len(got) > 1 {
			got = got[1:]
		}
	case "claims what is owned":
		if len(got) == 0 {
			got = again
		}
	case "keeps a trial through a stop":
		for _, l := range got {
			if slices.Contains(s.tried, l.In) {
				err = errors.Join(err, s.Store.Trial(ctx, l, true))
			}
		}
	case "takes what it claims for taken up":
		for _, l := range got {
			err = errors.Join(err, s.Store.Trial(ctx, l, false))
		}
	case "claims the idle":
		if s.life > 1 {
			got = append(got, again...)
		}
	case "claims twice":
		s.mu.Lock()
		if s.life > 1 && len(got) > 0 && !s.dead {
			got, s.dead = append(got, got[0]), true
		}
		s.mu.Unlock()
	}
	return got, err
}

func (s *flawed) Expire(ctx context.Context, limit int) (ports.Accepted, error) {
	if s.has("expires beyond its limit") {
		limit = 1000
	}
	got, err := s.Store.Expire(ctx, limit)
	got.Leases = s.lend(got.Leases)
	switch s.flaw {
	case "expires in silence":
		got.Leases = nil
	case "expires what was answered":
		s.mu.Lock()
		for _, l := range s.told {
			got.Leases = append(got.Leases, l)
		}
		s.mu.Unlock()
	}
	return got, err
}

func (s *flawed) Cursor(ctx context.Context, channel string) (string, error) {
	got, err := s.Store.Cursor(ctx, channel)
	switch {
	case s.has("forgets the cursor at a crash") && s.life > 1:
		got = ""
	case s.has("dies of a panic in route") && s.dead:
		err = errors.New("the writer is gone")
	}
	return got, err
}
