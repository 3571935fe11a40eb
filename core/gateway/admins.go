package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"

	"dragoman/core/access"
	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	adminsScope = "admins"
	adminsKind  = "room" // person → where they last wrote in private
)

// admins remembers where each admin last wrote in private. Safe for many goroutines.
type admins struct {
	store ports.Records

	mu    sync.Mutex
	rooms map[ports.PersonID]room // as they are stored, as far as this process knows
}

// room is the body of a record. Identity is by whose word its person was an admin
// there: one who is one no longer is told nothing.
type room struct {
	In       ports.Conversation `json:"in"`
	Identity string             `json:"identity"`
}

func newAdmins(store ports.Records) *admins {
	return &admins{store: store, rooms: map[ports.PersonID]room{}}
}

// seen remembers the private conversation of an admin who was let in with a
// message. Whoever owns the data folder is at their terminal only now and then,
// and is no admin that is known: see access.Owner. That it cannot be remembered is
// no reason to turn the message away.
func (a *admins) seen(ctx context.Context, v access.Verdict, m ports.Message, rules access.Rules, log *slog.Logger) {
	if v.Drop || v.Role != ports.RoleAdmin || !m.Private || rules.Mode == access.Owner {
		return
	}
	here := room{m.In, m.In.Channel + ":" + m.From}
	a.mu.Lock()
	same := a.rooms[v.Person] == here
	a.mu.Unlock()
	if same {
		return
	}
	if err := a.write(ctx, v.Person, here); err != nil {
		log.Warn("admin_room_not_stored", "user", v.Person, "kind", ports.KindOf(err), "err", err)
		return
	}
	a.mu.Lock()
	a.rooms[v.Person] = here
	a.mu.Unlock()
}

// write stores a room, unless it is stored already.
func (a *admins) write(ctx context.Context, who ports.PersonID, here room) error {
	was, r, err := a.read(ctx, who)
	if err != nil || was == here {
		return err
	}
	if r.Body, err = json.Marshal(here); err != nil {
		return err
	}
	if _, err = a.store.Put(ctx, r); ports.IsKind(err, ports.KindConflict) {
		return nil // another message of theirs was faster, and is as good
	}
	return err
}

// read reads a room with its record; of who has none both are empty but for the key.
func (a *admins) read(ctx context.Context, who ports.PersonID) (here room, r ports.Record, err error) {
	r, err = a.store.Get(ctx, adminsScope, adminsKind, string(who))
	if ports.IsKind(err, ports.KindNotFound) {
		return room{}, ports.Record{Scope: adminsScope, Kind: adminsKind, Key: string(who)}, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Body, &here)
	}
	return here, r, err
}

// TellAdmins has each admin told something, in the private conversation where they
// last wrote, once for a key; the log is told each time. The key begins with its
// topic, as in "model_failing/main/2026-11-22". It returns at once; the end of ctx
// does not end what it begins, and a stop of the gateway waits for that.
func (g *Gateway) TellAdmins(ctx context.Context, key, text string) {
	ctx = context.WithoutCancel(ctx)
	g.telling.Go(func() {
		topic, _, _ := strings.Cut(key, "/")
		rooms, err := guard.Read(ctx, &g.leaks, "store_admins", g.adminRooms)
		if err != nil {
			g.log.Error("admins_not_told", "topic", topic, "kind", ports.KindOf(err), "err", err)
		}
		told := 0
		for who, in := range rooms {
			if err := g.post(ctx, in, "admins/"+key+"/"+string(who), text); err != nil {
				g.log.Error("admins_not_told", "topic", topic, "user", who, "kind", ports.KindOf(err), "err", err)
				continue
			}
			told++
		}
		g.log.Warn("admin_told", "topic", topic, "admins", told)
	})
}

// adminRooms are where those are told who are admins now, and can be reached.
func (g *Gateway) adminRooms(ctx context.Context) (map[ports.PersonID]ports.Conversation, error) {
	people, err := g.access.Pairings(ctx)
	if err != nil {
		return nil, err
	}
	rooms := map[ports.PersonID]ports.Conversation{}
	for _, p := range people {
		if p.Role != ports.RoleAdmin || p.ID == "" {
			continue
		}
		here, _, err := g.admins.read(ctx, ports.PersonID(p.ID))
		if err != nil {
			return nil, err
		}
		if _, served := g.byChannel[here.In.Channel]; served && here.Identity == p.Identity {
			rooms[ports.PersonID(p.ID)] = here.In
		}
	}
	return rooms, nil
}

// post says something in a conversation that nobody there asked for, once for a key.
func (g *Gateway) post(ctx context.Context, in ports.Conversation, key, text string) error {
	g.mu.Lock()
	box, mail := g.outbox, g.inbox
	g.mu.Unlock()
	if mail == nil {
		return ports.Errorf(ports.KindUnavailable, "post", "the gateway is only starting (try again)")
	}
	return mail.Post(ctx, in, key, notice(box, in, key, text, nil))
}
