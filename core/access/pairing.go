package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sort"
	"strings"
	"time"

	"dragoman/ports"
)

// alphabet of codes: 32 signs that cannot be taken for one another, so that a
// random byte maps onto them evenly.
const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

const codeLength = 8

// asked is the body of a pairing record.
type asked struct {
	Code string             `json:"code"`
	Name string             `json:"name"`
	In   ports.Conversation `json:"in"`
}

// pairing gives a stranger's open code, or a new one. No code: too many wait.
func (a *Access) pairing(ctx context.Context, m ports.Message) (asked, error) {
	id := identity(m)
	r, err := a.store.Get(ctx, scope, kindPairing, id)
	if err == nil {
		var p asked
		return p, json.Unmarshal(r.Body, &p)
	}
	if !ports.IsKind(err, ports.KindNotFound) {
		return asked{}, err
	}
	if _, known, err := a.find(ctx, id); err != nil || known { // the code is gone because it was good
		return asked{}, cmp.Or(err, errLetIn)
	}
	waiting, err := a.store.List(ctx, scope, kindPairing)
	if err != nil {
		return asked{}, err
	}
	open := 0
	for _, w := range waiting {
		if strings.HasPrefix(w.Key, m.In.Channel+":") {
			open++
		}
	}
	if open >= codesOpen {
		a.log.Warn("pairing_codes_exhausted", "channel", m.In.Channel)
		return asked{}, nil
	}
	p := asked{Code: newCode(), Name: m.Name, In: m.In}
	_, err = a.store.Put(ctx, ports.Record{Scope: scope, Kind: kindPairing, Key: id, Body: body(p), Expires: time.Now().Add(codeLife)})
	if ports.IsKind(err, ports.KindConflict) { // another message of theirs was faster
		return a.pairing(ctx, m)
	}
	if err == nil {
		a.log.Info("pairing_asked", "channel", m.In.Channel, "user", m.From, "code", p.Code)
	}
	return p, err
}

// Approved is somebody who was let in, with the conversation they asked in.
type Approved struct {
	ports.Pairing
	In ports.Conversation
}

// errLetIn is why there is no code for somebody who was let in at this moment.
var errLetIn = errors.New("let in meanwhile")

// Approve lets in whoever was given the code, and has them told. The code is good
// until they are: an approval that a crash cut off can be made again.
func (a *Access) Approve(ctx context.Context, code string, role ports.Role, tell func(context.Context, Approved) error) (Approved, error) {
	waiting, err := a.store.List(ctx, scope, kindPairing)
	if err != nil {
		return Approved{}, err
	}
	for _, r := range waiting {
		var p asked
		if json.Unmarshal(r.Body, &p) != nil || p.Code != plainCode(code) {
			continue
		}
		who := person{ID: personID(r.Key), Role: role, Name: p.Name}
		if err := a.letIn(ctx, r.Key, who); err != nil {
			return Approved{}, err
		}
		in := Approved{Pairing: ports.Pairing{ID: string(who.ID), Identity: r.Key, Name: who.Name, Role: role, State: "approved"}, In: p.In}
		if err := tell(ctx, in); err != nil {
			return Approved{}, err
		}
		if err := a.store.Delete(ctx, r); err != nil && !ports.IsKind(err, ports.KindConflict) {
			return Approved{}, err
		}
		a.log.Info("pairing_approved", "user", r.Key, "role", role)
		return in, nil
	}
	return Approved{}, &ports.Error{Kind: ports.KindNotFound, Op: "approve", Err: errNoCode}
}

// Revoke takes away the access of a person, by id or by channel:user.
func (a *Access) Revoke(ctx context.Context, id string) (ports.Pairing, error) {
	known, err := a.store.List(ctx, scope, kindIdentity)
	if err != nil {
		return ports.Pairing{}, err
	}
	var gone ports.Pairing
	for _, r := range known {
		var p person
		if json.Unmarshal(r.Body, &p) != nil || (r.Key != id && string(p.ID) != id) {
			continue
		}
		if err := a.store.Delete(ctx, r); err != nil {
			return gone, err
		}
		gone = ports.Pairing{ID: string(p.ID), Identity: r.Key, Name: p.Name, Role: p.Role, State: "revoked"}
		a.log.Info("pairing_revoked", "user", r.Key)
	}
	if gone.ID != "" {
		return gone, nil
	}
	for identity, p := range a.listed {
		if identity == id || string(p.ID) == id {
			return gone, ports.Errorf(ports.KindInvalid, "revoke", "%s has access by \"people\" in the config: take them out there", id)
		}
	}
	return gone, ports.Errorf(ports.KindNotFound, "revoke", "nobody is known as %s", id)
}

// Pairings lists who waits and who is in.
func (a *Access) Pairings(ctx context.Context) ([]ports.Pairing, error) {
	list := []ports.Pairing{}
	waiting, err := a.store.List(ctx, scope, kindPairing)
	if err != nil {
		return nil, err
	}
	for _, r := range waiting {
		var p asked
		if json.Unmarshal(r.Body, &p) == nil {
			list = append(list, ports.Pairing{Code: p.Code, Identity: r.Key, Name: p.Name, State: "waiting", Expires: r.Expires})
		}
	}
	known, err := a.store.List(ctx, scope, kindIdentity)
	if err != nil {
		return nil, err
	}
	for _, r := range known {
		var p person
		if json.Unmarshal(r.Body, &p) == nil {
			list = append(list, ports.Pairing{ID: string(p.ID), Identity: r.Key, Name: p.Name, Role: p.Role, State: "approved"})
		}
	}
	for identity, p := range a.listed {
		list = append(list, ports.Pairing{ID: string(p.ID), Identity: identity, Name: p.Name, Role: p.Role, State: "approved"})
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Identity < list[j].Identity })
	return list, nil
}

// letIn writes the identity's record, over an older one if need be.
func (a *Access) letIn(ctx context.Context, identity string, who person) error {
	r := ports.Record{Scope: scope, Kind: kindIdentity, Key: identity, Body: body(who)}
	old, err := a.store.Get(ctx, scope, kindIdentity, identity)
	if err == nil {
		r.Version = old.Version
	} else if !ports.IsKind(err, ports.KindNotFound) {
		return err
	}
	_, err = a.store.Put(ctx, r)
	return err
}

func newCode() string {
	b := make([]byte, codeLength)
	rand.Read(b) // never fails (crypto/rand)
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return string(b)
}

// plainCode takes a code as people type it: any case, with dashes or spaces.
func plainCode(s string) string {
	return strings.NewReplacer("-", "", " ", "").Replace(strings.ToUpper(strings.TrimSpace(s)))
}

func body(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs of ours always marshal
	}
	return b
}
