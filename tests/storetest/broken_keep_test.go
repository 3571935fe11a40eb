package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/ports"
)

func (s *flawed) Question(ctx context.Context, id string) (ports.Question, error) {
	q, err := s.Store.Question(ctx, id)
	switch s.flaw {
	case "calls an unknown question a fault", "calls a caller that left a fault":
		if err != nil {
			return q, errors.New("no rows")
		}
	case "hides the cause":
		if err != nil {
			return q, &ports.Error{Kind: ports.KindOf(err), Op: "question"}
		}
	case "rounds expiries":
		q.Expires = q.Expires.Truncate(time.Hour)
	case "forgets what a prompt was posted as":
		q.Posted = ""
	case "takes a failed prompt for posted":
		q.Posted = "1"
	case "leaves the question of a finished turn open":
		if q.State == ports.QuestionStopped {
			q.State = ports.QuestionOpen
		}
	case "counts the last word":
		s.mu.Lock()
		defer s.mu.Unlock()
		if last, ok := s.questions[id]; ok && err == nil {
			return last, nil
		}
	}
	return q, err
}

func (s *flawed) Acquire(ctx context.Context, name string) (int64, error) {
	epoch, err := s.Store.Acquire(ctx, name)
	switch {
	case s.has("lends a lease twice") && err != nil:
		return s.leases[name], nil
	case s.has("keeps the leases of the dead") && err == nil && s.life > 1:
		return 0, ports.Errorf(ports.KindConflict, "acquire", "%s is held", name)
	}
	if err != nil {
		return 0, err
	}
	s.leases[name] = epoch
	if s.has("begins the epochs of a lease anew") {
		return 1, nil
	}
	return epoch, nil
}

func (s *flawed) Renew(ctx context.Context, name string, epoch int64) error {
	switch s.flaw {
	case "renews for any epoch":
		epoch = s.leases[name]
	case "renews for the dead":
		if s.life > 1 {
			return nil
		}
	case "renews what was never held":
		if s.leases[name] == 0 {
			return nil
		}
	case "renews what was given back":
		if s.leases[name] == epoch {
			return nil
		}
	case "begins the epochs of a lease anew":
		if epoch == 1 {
			epoch = s.leases[name]
		}
	}
	return s.Store.Renew(ctx, name, epoch)
}

func (s *flawed) Release(ctx context.Context, name string, epoch int64) error {
	if s.has("releases a lease for any epoch") || s.has("begins the epochs of a lease anew") && epoch == 1 {
		epoch = s.leases[name]
	}
	return s.Store.Release(ctx, name, epoch)
}

func recordKey(r ports.Record) string { return r.Scope + "/" + r.Kind + "/" + r.Key }

func (s *flawed) Get(ctx context.Context, scope, kind, key string) (ports.Record, error) {
	if s.has("mixes the scopes of records") {
		scope = "s"
	}
	r, err := s.Store.Get(ctx, scope, kind, key)
	switch {
	case s.has("shows what expired") && err != nil:
		if last, ok := s.records[scope+"/"+kind+"/"+key]; ok {
			return last, nil
		}
	case s.has("makes up a record"):
		err = nil
	case s.has("forgets records at a crash") && s.life > 1:
		return ports.Record{}, ports.Errorf(ports.KindNotFound, "get", "forgotten")
	case s.has("keeps a record's expiry to itself"):
		r.Expires = time.Time{}
	}
	return r, err
}

func (s *flawed) List(ctx context.Context, scope, kind string) ([]ports.Record, error) {
	got, err := s.Store.List(ctx, scope, kind)
	switch s.flaw {
	case "lists backwards":
		slices.Reverse(got)
	case "lists all scopes":
		for _, r := range s.records {
			if r.Scope != scope && r.Kind == kind {
				got = append(got, r)
			}
		}
	case "lists what expired":
		for _, r := range s.records {
			if !r.Expires.IsZero() && r.Expires.Before(time.Now()) {
				got = append(got, r)
			}
		}
	}
	return got, err
}

func (s *flawed) Put(ctx context.Context, r ports.Record) (ports.Record, error) {
	key := recordKey(r)
	switch s.flaw {
	case "ignores the context of Put":
		ctx = context.WithoutCancel(ctx)
	case "loses a write now and then":
		if s.count()%5 == 0 {
			return r, nil
		}
	case "never gives the version that it wants":
		r.Version = 7
	case "puts over what is newer":
		if now, err := s.Store.Get(ctx, r.Scope, r.Kind, r.Key); err == nil && r.Version != 0 {
			r.Version = now.Version
		}
	case "creates over what is there":
		if now, err := s.Store.Get(ctx, r.Scope, r.Kind, r.Key); err == nil && r.Version == 0 {
			r.Version = now.Version
		}
	case "counts versions from 1":
		if r.Version == 1 {
			r.Version = s.versions[key]
		}
	}
	got, err := s.Store.Put(ctx, r)
	for s.has("puts whatever the version") && ports.IsKind(err, ports.KindConflict) {
		now, _ := s.Store.Get(ctx, r.Scope, r.Kind, r.Key) // none: version 0
		r.Version = now.Version
		got, err = s.Store.Put(ctx, r)
	}
	if err != nil {
		if s.has("says that a lost race was won") {
			return r, nil
		}
		return got, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[key], s.versions[key] = got, got.Version
	if s.has("counts versions from 1") {
		got.Version = 1
	}
	return got, nil
}

func (s *flawed) Delete(ctx context.Context, r ports.Record) error {
	switch s.flaw {
	case "says that it deleted":
		if r.Version == s.versions[recordKey(r)] {
			return nil
		}
	case "deletes whatever the version", "counts versions from 1":
		r.Version = s.versions[recordKey(r)]
	}
	return s.Store.Delete(ctx, r)
}

func (s *flawed) Save(ctx context.Context, a ports.Artifact) error {
	if s.has("counts the last save") {
		i := slices.IndexFunc(s.artifacts, func(b ports.Artifact) bool { return b.In == a.In && b.ID == a.ID })
		if i >= 0 {
			s.artifacts[i] = a
			return nil
		}
	}
	if s.has("keeps the files of what is deleted") {
		a.Message = 0
	}
	s.artifacts = append(s.artifacts, a)
	return s.Store.Save(ctx, a)
}

func (s *flawed) Read(ctx context.Context, in ports.Conversation, id string, offset, limit int64) (ports.Artifact, error) {
	switch s.flaw {
	case "reads whole artifacts":
		limit = 1 << 40
	case "ignores the offset":
		offset = 0
	}
	got, err := s.Store.Read(ctx, in, id, offset, limit)
	if s.has("forgets the name of an artifact") {
		got.Name = ""
	}
	for _, a := range s.artifacts {
		a.Size = int64(len(a.Data))
		switch {
		case s.has("shows artifacts to every conversation") && err != nil && a.ID == id,
			s.has("shows a thread's artifacts in its chat") && err != nil && a.In.Chat == in.Chat && a.ID == id,
			s.has("finds artifacts by a prefix") && err != nil && a.In == in && strings.HasPrefix(a.ID, id),
			s.has("counts the last save") && a.In == in && a.ID == id:
			return a, nil
		}
	}
	return got, err
}

func (s *flawed) Append(ctx context.Context, e ports.AuditEntry) error {
	if s.has("forgets the detail of the audit") {
		e.Detail = nil
	}
	return s.Store.Append(ctx, e)
}

func (s *flawed) Entries(ctx context.Context, limit int) ([]ports.AuditEntry, error) {
	if s.has("ignores the limit of Entries") {
		limit = 1000
	}
	asked := limit
	if s.has("shows the oldest entries") {
		limit = 1000
	}
	got, err := s.Store.Entries(ctx, limit)
	if s.has("shows the oldest entries") {
		slices.Reverse(got)
		got = got[:min(len(got), asked)]
	}
	return got, err
}

func (s *flawed) Close() error {
	switch s.flaw {
	case "takes a stop for a crash":
		return errors.Join(s.die(), s.Store.Close())
	case "closes once":
		if s.dead {
			return errors.New("closed already")
		}
		s.dead = true
	}
	return s.Store.Close()
}

func (s *flawed) Feed(channel string) ports.Feed {
	if s.has("has one feed for all channels") {
		channel = "web"
	}
	return flawedFeed{s.Store.Feed(channel), s}
}

type flawedFeed struct {
	ports.Feed
	of *flawed
}

func (f flawedFeed) Append(ctx context.Context, chat, nonce string, body json.RawMessage) (ports.FeedItem, error) {
	switch f.of.flaw {
	case "shows a nonce again":
		nonce += fmt.Sprint("#", f.of.count())
	case "has one feed for all chats":
		chat = "c"
	}
	got, err := f.Feed.Append(ctx, chat, nonce, body)
	if f.of.has("says what it was told of a nonce") {
		got.Body = body
	}
	return got, err
}

func (f flawedFeed) Tail(ctx context.Context, chat string, seq int64, limit int) ([]ports.FeedItem, error) {
	if f.of.has("ignores the limit of Tail") {
		limit = 1 << 20
	}
	if f.of.has("takes a negative seq for the begin") {
		seq = max(seq, 0)
	}
	got, err := f.Feed.Tail(ctx, chat, seq, limit)
	switch f.of.flaw {
	case "shows a feed backwards":
		slices.Reverse(got)
	case "leaves gaps in a feed":
		if len(got) > 40 {
			got = slices.Delete(got, 39, 40)
		}
	case "keeps 500 items":
		got = got[max(0, len(got)-500):]
	}
	return got, err
}

func (s *flawed) Fates(channel string) ports.Fates {
	if s.has("follows the messages of all channels") {
		channel = "chat"
	}
	return flawedFates{s.Store.Fates(channel), s}
}

type flawedFates struct {
	ports.Fates
	of *flawed
}

func (f flawedFates) Fate(ctx context.Context, event string) (ports.Fate, error) {
	got, err := f.Fates.Fate(ctx, event)
	switch f.of.flaw {
	case "hides the open question from fates":
		got.Open = nil
	case "knows a fate of what never came":
		return got, nil
	case "tells of no turn before its end":
		if got.Turn.State != ports.TurnDone {
			got.Turn = ports.Turn{}
		}
	case "forgets what was sent":
		if got.Turn.State == ports.TurnDone {
			got.Unsent = []string{got.Turn.ID + "/1/0"}
		}
	case "takes all for sent":
		got.Unsent = nil
	case "waits for what may be dropped":
		if got.Turn.State == ports.TurnDone {
			got.Unsent = append(got.Unsent, got.Turn.ID+"/1/1")
		}
	case "forgets how a turn ended":
		got.Turn.Outcome = ""
	}
	return got, err
}
