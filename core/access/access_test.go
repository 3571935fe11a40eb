package access

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/ports"
)

func newAccess(t *testing.T, cfg Config) *Access {
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Dir: t.TempDir(), Sync: "normal"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return New(cfg, store, slog.New(slog.DiscardHandler))
}

func rules(mode Mode) Config {
	return Config{Channels: map[string]Rules{"tg": {Mode: mode, Groups: GroupMention}}}
}

func private(from, text string) ports.Message {
	return ports.Message{In: ports.Conversation{Channel: "tg", Chat: from}, From: from, Text: text, Private: true}
}

func admit(t *testing.T, a *Access, m ports.Message) Verdict {
	t.Helper()
	v, err := a.Admit(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAStrangerIsGivenOneCodeAndLetInByIt(t *testing.T) {
	a := newAccess(t, rules(Pairing))
	first, again := admit(t, a, private("1", "hi")), admit(t, a, private("1", "hello?"))
	if !first.Drop || first.Refusal == "" || first.Key == "" || first.Key != again.Key {
		t.Fatalf("refused by %+v, then %+v: the same key makes it be said once", first, again)
	}
	list, err := a.Pairings(t.Context())
	if err != nil || len(list) != 1 || list[0].State != "waiting" {
		t.Fatalf("who waits: %+v, %v", list, err)
	}
	if _, err := a.Approve(t.Context(), "AAAAAAAA", ports.RoleMember, nobody); !ports.IsKind(err, ports.KindNotFound) {
		t.Errorf("a wrong code gives %v", err)
	}
	code := strings.ToLower(list[0].Code[:4] + "-" + list[0].Code[4:]) // as people type it
	if _, err := a.Approve(t.Context(), code, ports.RoleMember, nobody); err != nil {
		t.Fatal(err)
	}
	if v := admit(t, a, private("1", "hi")); v.Drop || v.Person == "" || v.Role != ports.RoleMember {
		t.Errorf("after the approval: %+v", v)
	}
	if _, err := a.Approve(t.Context(), code, ports.RoleMember, nobody); !ports.IsKind(err, ports.KindNotFound) {
		t.Errorf("the code is good twice: %v", err)
	}
	if _, err := a.Revoke(t.Context(), "tg:1"); err != nil {
		t.Fatal(err)
	}
	if v := admit(t, a, private("1", "hi")); !v.Drop {
		t.Errorf("after the revocation: %+v", v)
	}
}

// nobody is told.
func nobody(context.Context, Approved) error { return nil }

// TestACodeIsGoodUntilItsPersonWasTold: what a crash cut off is made again, and
// whoever writes at that moment gets no new code.
func TestACodeIsGoodUntilItsPersonWasTold(t *testing.T) {
	a := newAccess(t, rules(Pairing))
	m := private("eve", "hello")
	if v := admit(t, a, m); v.Refusal == "" {
		t.Fatalf("%+v", v)
	}
	list, err := a.Pairings(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	cut := errors.New("the process died")
	if _, err := a.Approve(t.Context(), list[0].Code, ports.RoleMember, func(context.Context, Approved) error { return cut }); !errors.Is(err, cut) {
		t.Fatalf("it gives %v", err)
	}
	if got, err := a.Approve(t.Context(), list[0].Code, ports.RoleMember, nobody); err != nil || got.Identity != "tg:eve" {
		t.Errorf("the second try gives %+v, %v", got, err)
	}
	if _, err := a.pairing(t.Context(), m); !errors.Is(err, errLetIn) {
		t.Errorf("whoever is in gets a code: %v", err)
	}
}

func TestACodeExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccess(t, rules(Pairing))
		before := admit(t, a, private("1", "hi"))
		list, _ := a.Pairings(t.Context())
		time.Sleep(codeLife + time.Second)
		if _, err := a.Approve(t.Context(), list[0].Code, ports.RoleMember, nobody); !ports.IsKind(err, ports.KindNotFound) {
			t.Errorf("an old code gives %v", err)
		}
		if after := admit(t, a, private("1", "hi")); after.Key == before.Key || after.Refusal == "" {
			t.Errorf("after the code's time no new one is given: %+v", after)
		}
	})
}

func TestManyStrangersMeetSilence(t *testing.T) {
	a := newAccess(t, rules(Pairing))
	for i := range codesOpen {
		if v := admit(t, a, private("s"+string(rune('a'+i%26))+strings.Repeat("x", i), "hi")); v.Refusal == "" {
			t.Fatalf("stranger %d got no code", i)
		}
	}
	if v := admit(t, a, private("one too many", "hi")); !v.Drop || v.Refusal != "" {
		t.Errorf("beyond the limit: %+v", v)
	}
}

func TestTheFirstAdminsCodeIsGoodOnceAndTriesAreLimited(t *testing.T) {
	a := newAccess(t, rules(Pairing))
	code, err := a.FirstAdminCode(t.Context())
	if err != nil || len(code) != codeLength {
		t.Fatalf("code %q, %v", code, err)
	}
	for range triesPerson {
		if v := admit(t, a, private("guesser", "/start AAAAAAAA")); !v.Drop {
			t.Fatal("a wrong code lets in")
		}
	}
	if v := admit(t, a, private("guesser", "/start "+code)); !v.Drop {
		t.Error("tries are not limited")
	}
	group := private("boss", "/start "+code)
	group.Private, group.Addressed = false, true
	if v := admit(t, a, group); !v.Drop {
		t.Error("a code shown to a group lets in")
	}
	if v := admit(t, a, private("boss", "/start "+code)); v.Drop || v.Role != ports.RoleAdmin {
		t.Errorf("the right code: %+v", v)
	}
	if v := admit(t, a, private("second", "/start "+code)); !v.Drop {
		t.Error("the code is good twice")
	}
	if again, err := a.FirstAdminCode(t.Context()); again != "" || err != nil {
		t.Errorf("with an admin known there is a code still: %q, %v", again, err)
	}
}

func TestModes(t *testing.T) {
	a := newAccess(t, rules(Open))
	if v := admit(t, a, private("1", "hi")); v.Drop || v.Role != ports.RoleMember {
		t.Errorf("open: %+v", v)
	}
	cfg := rules(Allowlist)
	cfg.People = map[string]Listed{"ann": {Identities: []string{"tg:1"}, Role: ports.RoleAdmin}}
	a = newAccess(t, cfg)
	if v := admit(t, a, private("1", "hi")); v.Drop || v.Person != "ann" || v.Role != ports.RoleAdmin {
		t.Errorf("on the list: %+v", v)
	}
	if v := admit(t, a, private("2", "hi")); !v.Drop || !strings.Contains(v.Refusal, "tg:2") {
		t.Errorf("not on the list: %+v", v)
	}
	if v := admit(t, newAccess(t, Config{}), private("1", "hi")); !v.Drop {
		t.Errorf("a channel without rules lets in: %+v", v)
	}
}

func TestGroups(t *testing.T) {
	cfg := rules(Open)
	a := newAccess(t, cfg)
	m := ports.Message{In: ports.Conversation{Channel: "tg", Chat: "-5"}, From: "1", Text: "hi all"}
	if v := admit(t, a, m); !v.Drop || v.Refusal != "" {
		t.Errorf("not addressed: %+v", v)
	}
	m.Addressed = true
	if v := admit(t, a, m); v.Drop {
		t.Errorf("addressed: %+v", v)
	}
	r := cfg.Channels["tg"]
	r.Groups = GroupOff
	cfg.Channels["tg"] = r
	if v := admit(t, newAccess(t, cfg), m); !v.Drop {
		t.Errorf("groups are off: %+v", v)
	}
}

func TestTheRateIsHeldAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := rules(Open)
		cfg.Channels["tg"] = Rules{Mode: Open, Count: 3, Per: time.Minute}
		a := newAccess(t, cfg)
		for range 10 { // the store fails and the platform redelivers
			v := admit(t, a, private("1", "hi"))
			if v.Drop {
				t.Fatal("a redelivery is refused: the message would be lost")
			}
			v.Undo()
		}
		for range 3 {
			if v := admit(t, a, private("1", "hi")); v.Drop {
				t.Fatalf("within the rate: %+v", v)
			}
		}
		over, more := admit(t, a, private("1", "hi")), admit(t, a, private("1", "hi"))
		if !over.Drop || over.Refusal == "" || over.Key != more.Key {
			t.Errorf("over the rate: %+v, then %+v", over, more)
		}
		if v := admit(t, a, private("2", "hi")); v.Drop {
			t.Error("one person's rate is another's")
		}
		time.Sleep(21 * time.Second)
		if v := admit(t, a, private("1", "hi")); v.Drop {
			t.Errorf("after a while: %+v", v)
		}
	})
}

func TestAStoreThatFailsDecidesNothing(t *testing.T) {
	a := newAccess(t, rules(Pairing))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := a.Admit(ctx, private("1", "hi")); err == nil {
		t.Errorf("decided %+v", v)
	}
}
