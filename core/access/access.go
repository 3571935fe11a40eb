// Package access decides who may talk to the bot, and as whom. No one gets in by
// default: an unknown person is refused once and then met with silence, or is
// given a code that an admin can approve. Persons have internal ids; identities
// (channel:user) point to them.
//
// Everything that must survive is a record of the store; codes for the first
// admin, tries and rates are counted in memory.
package access

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"dragoman/ports"
)

// Mode is how unknown people are met.
type Mode string

const (
	Pairing   Mode = "pairing"   // given a code that an admin can approve
	Allowlist Mode = "allowlist" // refused
	Open      Mode = "open"      // let in
	// Owner is for a channel that only the owner of the data folder can reach:
	// whoever writes there is that person, and an admin. It is no admin that is
	// known: it opens no other channel, and is not listed.
	Owner Mode = "owner"
)

// Groups is which messages of a group are for the bot.
type Groups string

const (
	GroupMention Groups = "mention" // those that address it
	GroupAll     Groups = "all"
	GroupOff     Groups = "off"
)

// Rules are one channel's rules.
type Rules struct {
	Mode   Mode
	Groups Groups
	Count  int           // messages of one person
	Per    time.Duration // in this time; 0 = no limit
}

// Listed is a person of the config.
type Listed struct {
	Identities []string // channel:user
	Role       ports.Role
}

// Config of access, by channel and by person's name.
type Config struct {
	Channels map[string]Rules
	People   map[string]Listed
}

const (
	scope        = "access"
	kindIdentity = "identity" // channel:user → who it is
	kindPairing  = "pairing"  // channel:user → the code that they were given
	codeLife     = time.Hour
	codesOpen    = 100 // codes that wait, per channel; beyond it: silence
	ratesKept    = 4096
	ownerName    = "owner" // stands for the identity of the data folder's owner; none is like it, for it has no ':'
)

// Access admits. Make it with New; safe for many goroutines.
type Access struct {
	cfg    Config
	store  ports.Records
	log    *slog.Logger
	listed map[string]person // by identity, from the config

	mu    sync.Mutex
	first firstAdmin
	rates map[string]*rate.Limiter // by identity
}

// person is who an identity is. It is the body of an identity record.
type person struct {
	ID   ports.PersonID `json:"person"`
	Role ports.Role     `json:"role"`
	Name string         `json:"name,omitempty"`
}

// Verdict is the decision on one message.
type Verdict struct {
	Person  ports.PersonID
	Role    ports.Role
	Drop    bool
	Welcome bool   // the message let its sender in
	Refusal string // what is said to the sender, "" = silence
	Key     string // names the refusal: said once per key
	Undo    func() // gives back what the message counted for
}

// New makes an Access on the records of the store.
func New(cfg Config, store ports.Records, log *slog.Logger) *Access {
	a := &Access{cfg: cfg, store: store, log: log, listed: map[string]person{}, rates: map[string]*rate.Limiter{}}
	for name, p := range cfg.People {
		for _, id := range p.Identities {
			a.listed[id] = person{ID: ports.PersonID(name), Role: p.Role, Name: name}
		}
	}
	return a
}

// Admit decides on a message. Its error is the store's: nothing was decided.
func (a *Access) Admit(ctx context.Context, m ports.Message) (Verdict, error) {
	rules := a.cfg.Channels[m.In.Channel]
	if !m.Private && (rules.Groups == GroupOff || rules.Groups == GroupMention && !m.Addressed && m.Choice == nil) {
		return Verdict{Drop: true}, nil
	}
	if rules.Mode == Owner {
		return a.pace(person{ID: personID(ownerName), Role: ports.RoleAdmin}, m, rules), nil
	}
	who, known, err := a.find(ctx, identity(m))
	if err != nil {
		return Verdict{}, err
	}
	if !known {
		who, known, err = a.firstAdmin(ctx, m)
		if err != nil || known {
			return Verdict{Person: who.ID, Role: who.Role, Welcome: known}, err
		}
	}
	if !known && rules.Mode == Open {
		who, known = person{ID: personID(identity(m)), Role: ports.RoleMember, Name: m.Name}, true
	}
	if !known {
		v, err := a.refuse(ctx, m, rules)
		if errors.Is(err, errLetIn) {
			return a.Admit(ctx, m)
		}
		return v, err
	}
	return a.pace(who, m, rules), nil
}

// Known reports whether a message's sender is let in. It counts and answers nothing.
func (a *Access) Known(ctx context.Context, m ports.Message) (bool, error) {
	if mode := a.cfg.Channels[m.In.Channel].Mode; mode == Open || mode == Owner {
		return true, nil
	}
	_, known, err := a.find(ctx, identity(m))
	return known, err
}

// find looks an identity up: the config first, then the store.
func (a *Access) find(ctx context.Context, id string) (person, bool, error) {
	if p, ok := a.listed[id]; ok {
		return p, true, nil
	}
	r, err := a.store.Get(ctx, scope, kindIdentity, id)
	if ports.IsKind(err, ports.KindNotFound) {
		return person{}, false, nil
	}
	if err != nil {
		return person{}, false, err
	}
	var p person
	err = json.Unmarshal(r.Body, &p)
	return p, err == nil, err
}

// refuse words the one refusal that a stranger gets.
func (a *Access) refuse(ctx context.Context, m ports.Message, rules Rules) (Verdict, error) {
	id := identity(m)
	switch {
	case m.Choice != nil, !m.Private && !m.Addressed:
		return Verdict{Drop: true}, nil
	case !m.Private:
		return Verdict{Drop: true, Key: "group/" + id + "/" + m.In.Chat, Refusal: textGroup}, nil
	case rules.Mode == Pairing:
		p, err := a.pairing(ctx, m)
		if err != nil || p.Code == "" {
			return Verdict{Drop: true}, err
		}
		text := textPairing(p.Code)
		if _, tried := codeOf(m); tried {
			text = textCodeUsed + text
		}
		return Verdict{Drop: true, Key: "code/" + id + "/" + p.Code, Refusal: text}, nil
	}
	return Verdict{Drop: true, Key: "list/" + id, Refusal: textListed(id)}, nil
}

// pace holds a person to the channel's rate. What is over it is not accepted,
// and they are told so once in a while.
func (a *Access) pace(who person, m ports.Message, rules Rules) Verdict {
	v := Verdict{Person: who.ID, Role: who.Role}
	if rules.Per <= 0 || rules.Count <= 0 || m.Choice != nil || strings.HasPrefix(m.Text, "/stop") {
		return v
	}
	l, now := a.limiter(identity(m), rules), time.Now()
	r := l.ReserveN(now, 1)
	if r.DelayFrom(now) > 0 {
		r.CancelAt(now)
		window := now.Truncate(rules.Per).Format(time.RFC3339)
		return Verdict{Person: who.ID, Drop: true, Key: "rate/" + identity(m) + "/" + window, Refusal: textRate(rules)}
	}
	// A reservation that is already due cannot be cancelled: the token is put
	// back by reserving a negative one.
	v.Undo = func() { l.ReserveN(time.Now(), -1) }
	return v
}

// limiter finds or makes an identity's limiter. Those that rest at full are
// forgotten when there are many.
func (a *Access) limiter(id string, rules Rules) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.rates[id]
	if l != nil {
		return l
	}
	if len(a.rates) >= ratesKept {
		maps.DeleteFunc(a.rates, func(_ string, l *rate.Limiter) bool { return l.Tokens() >= float64(l.Burst()) })
	}
	l = rate.NewLimiter(rate.Every(rules.Per/time.Duration(rules.Count)), rules.Count)
	a.rates[id] = l
	return l
}

func identity(m ports.Message) string { return m.In.Channel + ":" + m.From }

// personID is the internal id of somebody who came by this identity.
func personID(identity string) ports.PersonID {
	sum := sha256.Sum256([]byte(identity))
	return ports.PersonID("p" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10])))
}

var errNoCode = errors.New("no such code, or it is too old")
