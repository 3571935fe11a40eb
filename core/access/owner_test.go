package access

import (
	"testing"

	"dragoman/ports"
)

// Whoever reaches the owner's channel is its admin; but that is no admin that is
// known, and it opens no other channel.
func TestTheOwner(t *testing.T) {
	cfg := rules(Pairing)
	cfg.Channels["terminal.main"], cfg.Channels["terminal.other"] = Rules{Mode: Owner}, Rules{Mode: Owner}
	a := newAccess(t, cfg)
	code, err := a.FirstAdminCode(t.Context())
	if err != nil || code == "" {
		t.Fatalf("the first admin's code is %q, %v", code, err)
	}
	var persons []ports.PersonID
	for _, channel := range []string{"terminal.main", "terminal.other"} {
		for _, from := range []string{"1", "2"} {
			m := ports.Message{In: ports.Conversation{Channel: channel, Chat: from}, Private: true, From: from, Text: "/start " + code}
			v := admit(t, a, m)
			if v.Drop || v.Role != ports.RoleAdmin || v.Welcome {
				t.Errorf("the owner on %s: %+v", channel, v)
			}
			persons = append(persons, v.Person)
			if known, err := a.Known(t.Context(), m); !known || err != nil {
				t.Errorf("the owner is not known on %s: %v", channel, err)
			}
		}
	}
	for _, p := range persons {
		if p != persons[0] || p == "" {
			t.Errorf("the owner is %q and %q", persons[0], p)
		}
	}
	if list, err := a.Pairings(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the owner is listed: %+v, %v", list, err)
	}
	if again, err := newAccess(t, cfg).FirstAdminCode(t.Context()); again == "" || err != nil {
		t.Errorf("after the owner wrote, the first admin's code is %q, %v", again, err)
	}
	if v := admit(t, a, private("1", "hi")); !v.Drop {
		t.Errorf("the owner's id opens another channel: %+v", v)
	}
	if v := admit(t, a, private("2", "/start "+code)); v.Drop || v.Role != ports.RoleAdmin {
		t.Errorf("the owner used up the first admin's code: %+v", v)
	}
}
