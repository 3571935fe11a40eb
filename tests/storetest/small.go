package storetest

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"dragoman/ports"
)

func leaseRules() []Rule {
	return []Rule{
		rule("lease/one holder at a time", "a platform lets one receiver poll", func(t *trial) {
			first, err := t.Acquire(t.ctx, "bot")
			t.ok(err, "acquire")
			_, err = t.Acquire(t.ctx, "bot")
			t.kind(err, ports.KindConflict, "acquire what is held")
			_, err = t.Acquire(t.ctx, "other")
			t.ok(err, "acquire another name")
			t.ok(t.Renew(t.ctx, "bot", first), "renew")
			t.kind(t.Renew(t.ctx, "bot", first+1), ports.KindFenced, "renew with another epoch")
			t.kind(t.Renew(t.ctx, "nobody", 1), ports.KindFenced, "renew what was never held")
			t.ok(t.Release(t.ctx, "bot", first+1), "release with another epoch")
			t.ok(t.Renew(t.ctx, "bot", first), "renew after another epoch's release")
			t.ok(t.Release(t.ctx, "bot", first), "release")
			t.ok(t.Release(t.ctx, "bot", first), "release again")
			t.kind(t.Renew(t.ctx, "bot", first), ports.KindFenced, "renew after the release")
			second, err := t.Acquire(t.ctx, "bot")
			t.want(err == nil && second > first, "the next epoch is %d after %d (%v)", second, first, err)
		}),
		rule("lease/freed by the end of its process", "the next process must poll at once", func(t *trial) {
			last, err := t.Acquire(t.ctx, "bot")
			t.ok(err, "acquire")
			for _, end := range []func(){t.crash, t.restart} {
				end()
				t.kind(t.Renew(t.ctx, "bot", last), ports.KindFenced, "renew a dead process's lease")
				next, err := t.Acquire(t.ctx, "bot")
				t.want(err == nil && next > last, "the next epoch is %d after %d (%v)", next, last, err)
				last = next
			}
		}),
	}
}

func recordRules() []Rule {
	put := func(t *trial, key string, version int64, s string) ports.Record {
		r, err := t.Put(t.ctx, ports.Record{Scope: "s", Kind: "k", Key: key, Version: version, Body: body(s)})
		t.ok(err, "put")
		return r
	}
	return []Rule{
		rule("record/put compares and swaps", "two admins must not undo each other", func(t *trial) {
			_, err := t.Get(t.ctx, "s", "k", "a")
			t.kind(err, ports.KindNotFound, "get what is not there")
			_, err = t.Put(t.ctx, ports.Record{Scope: "s", Kind: "k", Key: "a", Version: 5, Body: body("x")})
			t.kind(err, ports.KindConflict, "put a version of nothing")
			r1 := put(t, "a", 0, "1")
			t.want(r1.Version != 0, "a stored record has version 0")
			_, err = t.Put(t.ctx, ports.Record{Scope: "s", Kind: "k", Key: "a", Body: body("x")})
			t.kind(err, ports.KindConflict, "create what is there")
			r2 := put(t, "a", r1.Version, "2")
			_, err = t.Put(t.ctx, r1)
			t.kind(err, ports.KindConflict, "put an old version")
			t.crash()
			got, err := t.Get(t.ctx, "s", "k", "a")
			t.want(err == nil && got.Version == r2.Version && string(got.Body) == string(body("2")) && got.Expires.IsZero() && got.Key == "a" && got.Kind == "k" && got.Scope == "s", "got %+v %v", got, err)
		}),
		rule("record/delete compares too", "what changed meanwhile must not vanish", func(t *trial) {
			r1 := put(t, "a", 0, "1")
			r2 := put(t, "a", r1.Version, "2")
			t.kind(t.Delete(t.ctx, r1), ports.KindConflict, "delete an old version")
			t.ok(t.Delete(t.ctx, r2), "delete")
			t.ok(t.Delete(t.ctx, r2), "delete again")
			_, err := t.Get(t.ctx, "s", "k", "a")
			t.kind(err, ports.KindNotFound, "get what was deleted")
		}),
		rule("record/a version is used once", "who read the deleted record must not overwrite the new one", func(t *trial) {
			old := put(t, "a", 0, "1")
			t.ok(t.Delete(t.ctx, old), "delete")
			put(t, "a", 0, "2")
			_, err := t.Put(t.ctx, old)
			t.kind(err, ports.KindConflict, "put over a record that was made anew")
		}),
		rule("record/expired is absent", "a pairing code that is over must not let anybody in", func(t *trial) {
			over := ports.Record{Scope: "s", Kind: "k", Key: "a", Body: body("old"), Expires: time.Now().Add(-time.Second)}
			r, err := t.Put(t.ctx, over)
			t.ok(err, "put")
			_, err = t.Get(t.ctx, "s", "k", "a")
			t.kind(err, ports.KindNotFound, "get what expired")
			l, err := t.List(t.ctx, "s", "k")
			t.want(err == nil && len(l) == 0, "list gives %v %v", l, err)
			_, err = t.Put(t.ctx, r)
			t.kind(err, ports.KindConflict, "put a version of what expired")
			t.ok(t.Delete(t.ctx, r), "delete what expired")
			later := over
			later.Expires = time.Now().Add(time.Hour).Truncate(time.Millisecond)
			r, err = t.Put(t.ctx, later)
			t.ok(err, "create in the place of what expired")
			got, err := t.Get(t.ctx, "s", "k", "a")
			t.want(err == nil && got.Version == r.Version && got.Expires.Equal(later.Expires), "got %+v %v", got, err)
		}),
		rule("record/list is by key, of one kind", "grants of one person must not be another's", func(t *trial) {
			for _, key := range []string{"b", "a", "c"} {
				put(t, key, 0, key)
			}
			for _, other := range []ports.Record{{Scope: "s2", Kind: "k", Key: "x"}, {Scope: "s", Kind: "k2", Key: "x"}} {
				_, err := t.Put(t.ctx, other)
				t.ok(err, "put")
			}
			l, err := t.List(t.ctx, "s", "k")
			t.want(err == nil && len(l) == 3 && l[0].Key == "a" && l[1].Key == "b" && l[2].Key == "c" && l[2].Version != 0 && string(l[2].Body) == string(body("c")), "list gives %v %v", l, err)
		}),
		rule("record/scopes and kinds are apart", "one person's session must not be found under the name of another's", func(t *trial) {
			mine := put(t, "a", 0, "mine")
			for name, other := range map[string]ports.Record{"scope": {Scope: "s2", Kind: "k", Key: "a"}, "kind": {Scope: "s", Kind: "k2", Key: "a"}} {
				_, err := t.Get(t.ctx, other.Scope, other.Kind, other.Key)
				t.kind(err, ports.KindNotFound, "get the key in another "+name)
				other.Body = body("other")
				stored, err := t.Put(t.ctx, other)
				t.ok(err, "put the key in another "+name)
				t.ok(t.Delete(t.ctx, stored), "delete the key in another "+name)
			}
			got, err := t.Get(t.ctx, "s", "k", "a")
			t.want(err == nil && got.Version == mine.Version && string(got.Body) == string(body("mine")), "got %+v %v", got, err)
		}),
	}
}

func keepRules() []Rule {
	return []Rule{
		rule("artifact/is found in its conversation alone", "a guessed id must not show another chat's file", func(t *trial) {
			a := ports.Artifact{In: room("a"), ID: "x", Name: "n.txt", MIME: "text/plain", Data: []byte("secret of a")}
			b := ports.Artifact{In: room("b"), ID: "x", Data: []byte("b")}
			t.ok(t.Save(t.ctx, a), "save")
			_, err := t.Read(t.ctx, b.In, "x", 0, 100)
			t.kind(err, ports.KindNotFound, "read from another conversation")
			t.ok(t.Save(t.ctx, b), "save")
			t.crash()
			got, err := t.Read(t.ctx, a.In, "x", 0, 100)
			t.want(err == nil && string(got.Data) == "secret of a" && got.Name == a.Name && got.MIME == a.MIME && got.Size == 11 && got.In == a.In && got.ID == "x", "got %+v %v", got, err)
		}),
		rule("artifact/is found by its whole id", "an id cut short by a model must not bring up some other file", func(t *trial) {
			in := ports.Conversation{Channel: channel, Chat: "a", Thread: "1"}
			t.ok(t.Save(t.ctx, ports.Artifact{In: in, ID: "abc", Data: []byte("secret")}), "save")
			for _, id := range []string{"", "ab", "abcd", "ABC", "a%", "ab_", "a*"} {
				_, err := t.Read(t.ctx, in, id, 0, 100)
				t.kind(err, ports.KindNotFound, fmt.Sprintf("read by a part of the id or a pattern (%q)", id))
			}
			_, err := t.Read(t.ctx, room("a"), "abc", 0, 100)
			t.kind(err, ports.KindNotFound, "read a thread's artifact from its chat")
		}),
		rule("artifact/is read in pieces", "it is too large for a prompt", func(t *trial) {
			data := bytes.Repeat([]byte("0123456789\x00\xff"), 10000)
			a := ports.Artifact{In: room("a"), ID: "x", Data: data}
			t.ok(t.Save(t.ctx, a), "save")
			var got []byte
			for {
				p, err := t.Read(t.ctx, a.In, "x", int64(len(got)), 7001)
				t.ok(err, "read")
				t.want(p.Size == int64(len(data)) && len(p.Data) <= 7001, "a piece has %d bytes of %d", len(p.Data), p.Size)
				if len(p.Data) == 0 {
					break
				}
				got = append(got, p.Data...)
				t.want(len(got) <= len(data), "the pieces are not the whole: %d bytes of %d", len(got), len(data))
			}
			t.want(bytes.Equal(got, data), "the pieces are not the whole: %d bytes of %d", len(got), len(data))
			for _, beyond := range []int64{int64(len(data)) + 1, 1 << 40, math.MaxInt64} {
				p, err := t.Read(t.ctx, a.In, "x", beyond, 7001)
				t.want(err == nil && len(p.Data) == 0 && p.Size == int64(len(data)), "from offset %d: %d bytes of %d, %v", beyond, len(p.Data), p.Size, err)
			}
		}),
		rule("artifact/the same id is left as it is", "what a model was shown must not change behind its back", func(t *trial) {
			a := ports.Artifact{In: room("a"), ID: "x", Data: []byte("1")}
			t.ok(t.Save(t.ctx, a), "save")
			a.Data = []byte("22")
			t.ok(t.Save(t.ctx, a), "save again")
			t.ok(t.Save(t.ctx, ports.Artifact{In: room("a"), ID: "empty"}), "save an empty one")
			got, err := t.Read(t.ctx, a.In, "x", 0, 10)
			t.want(err == nil && string(got.Data) == "1" && got.Size == 1, "got %+v %v", got, err)
		}),
		rule("audit/newest first", "an admin looks at what just happened", func(t *trial) {
			begin := time.Now().Add(-time.Second)
			for i := range 5 {
				t.ok(t.Append(t.ctx, ports.AuditEntry{Actor: "admin", What: "pair", Ref: fmt.Sprint(i), Detail: body("d")}), "append")
			}
			t.crash()
			got, err := t.Entries(t.ctx, 2)
			t.want(err == nil && len(got) == 2 && got[0].Ref == "4" && got[1].Ref == "3" && got[0].Actor == "admin" && got[0].What == "pair" && string(got[0].Detail) == string(body("d")), "got %+v %v", got, err)
			t.want(got[0].At.After(begin) && got[0].At.Before(time.Now().Add(time.Second)), "it was at %v", got[0].At)
		}),
		rule("feed/a nonce is added once", "a delivery that is sent again must not show twice", func(t *trial) {
			f := t.Feed("web")
			one, err := f.Append(t.ctx, "c", "n1", body("1"))
			t.want(err == nil && one.Seq == 1 && one.Nonce == "n1" && !one.At.IsZero(), "got %+v %v", one, err)
			again, err := f.Append(t.ctx, "c", "n1", body("other"))
			t.want(err == nil && again.Seq == 1 && string(again.Body) == string(body("1")) && again.At.Equal(one.At), "again gave %+v %v", again, err)
			two, err := f.Append(t.ctx, "c", "n2", body("2"))
			t.want(err == nil && two.Seq == 2, "the next is %+v %v", two, err)
			for name, of := range map[string]struct {
				f    ports.Feed
				chat string
			}{"chat": {f, "d"}, "channel": {t.Feed("web2"), "c"}} {
				other, err := of.f.Append(t.ctx, of.chat, "n1", body("x"))
				t.want(err == nil && other.Seq == 1 && string(other.Body) == string(body("x")), "another %s gave %+v %v", name, other, err)
			}
		}),
		rule("feed/tail", "a browser that lost its stream goes on where it was", func(t *trial) {
			f := t.Feed("web")
			for i := range 10 {
				_, err := f.Append(t.ctx, "c", fmt.Sprint(i), body(fmt.Sprint(i)))
				t.ok(err, "append")
			}
			t.crash()
			f = t.Feed("web")
			for _, c := range []struct {
				seq         int64
				limit       int
				first, last int64
			}{{0, 100, 1, 10}, {7, 100, 8, 10}, {2, 3, 3, 5}, {-4, 100, 7, 10}, {-100, 100, 1, 10}, {-4, 2, 7, 8}, {10, 5, 0, 0}} {
				got, err := f.Tail(t.ctx, "c", c.seq, c.limit)
				t.ok(err, "tail")
				if c.first == 0 {
					t.want(len(got) == 0, "tail(%d, %d) gives %v", c.seq, c.limit, got)
					continue
				}
				t.want(len(got) == int(c.last-c.first+1) && got[0].Seq == c.first && got[len(got)-1].Seq == c.last, "tail(%d, %d) gives %v", c.seq, c.limit, got)
			}
		}),
		rule("feed/keeps at least the last 1000 items", "a feed may forget what is old, never what a page still shows", func(t *trial) {
			const all, kept = 2500, 1000
			f := t.Feed("web")
			_, err := f.Append(t.ctx, "quiet", "n", body("q"))
			t.ok(err, "append")
			for i := range all {
				item, err := f.Append(t.ctx, "c", fmt.Sprint(i), body(fmt.Sprint(i)))
				t.want(err == nil && item.Seq == int64(i+1), "item %d is %+v %v", i+1, item, err)
			}
			got, err := f.Tail(t.ctx, "c", -kept, all)
			t.want(err == nil && len(got) == kept && got[0].Seq == all-kept+1, "the last %d are %d (%v)", kept, len(got), err)
			got, err = f.Tail(t.ctx, "c", 0, all)
			t.want(err == nil && len(got) >= kept && got[len(got)-1].Seq == all, "the tail from the start has %d items (%v)", len(got), err)
			for i, item := range got {
				t.want(item.Seq == got[0].Seq+int64(i) && string(item.Body) == string(body(fmt.Sprint(item.Seq-1))), "item %d of the tail is %+v", i, item)
			}
			got, err = f.Tail(t.ctx, "quiet", 0, 10)
			t.want(err == nil && len(got) == 1, "another chat has %d items (%v)", len(got), err)
		}),
		rule("close/later calls fail plainly", "a late goroutine must not crash a stopping process", func(t *trial) {
			s := t.Store
			t.restart()
			_, err := s.Claim(t.ctx, 1)
			t.kind(err, ports.KindUnavailable, "a write after close")
			_, err = s.Cursor(t.ctx, channel)
			t.kind(err, ports.KindUnavailable, "a read after close")
			t.ok(s.Close(), "close again")
		}),
	}
}
