package access

import (
	"context"
	"crypto/subtle"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"dragoman/ports"
)

// Wrong tries for the first admin's code: a few per person, some more in all.
const (
	triesPerson = 5
	triesAll    = 50
	triesPer    = time.Hour
)

// firstAdmin is the code that makes its finder the first admin.
type firstAdmin struct {
	code  string // "" once an admin is known
	tries map[string]*rate.Limiter
	all   *rate.Limiter
}

// FirstAdminCode gives the code for the first admin, made anew at each start,
// or "" where an admin is known already. Call it once, before Admit.
func (a *Access) FirstAdminCode(ctx context.Context) (string, error) {
	people, err := a.Pairings(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range people {
		if p.Role == ports.RoleAdmin {
			return "", nil
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.first = firstAdmin{code: newCode(), tries: map[string]*rate.Limiter{}, all: tryLimit(triesAll)}
	return a.first.code, nil
}

// firstAdmin lets a stranger in who brings the code, in a private chat. The code is good once.
func (a *Access) firstAdmin(ctx context.Context, m ports.Message) (person, bool, error) {
	code, ok := codeOf(m)
	if !ok || !a.tryCode(identity(m), code) {
		return person{}, false, nil
	}
	who := person{ID: personID(identity(m)), Role: ports.RoleAdmin, Name: m.Name}
	if err := a.letIn(ctx, identity(m), who); err != nil {
		a.mu.Lock()
		a.first.code = code // not used up
		a.mu.Unlock()
		return person{}, false, err
	}
	a.log.Info("first_admin_paired", "channel", m.In.Channel, "user", m.From)
	return who, true, nil
}

// tryCode compares a code, counts a wrong one, and uses up the right one.
func (a *Access) tryCode(identity, code string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.first.code == "" {
		return false
	}
	l := a.first.tries[identity]
	if l == nil {
		l = tryLimit(triesPerson)
		if len(a.first.tries) < triesAll {
			a.first.tries[identity] = l
		}
	}
	if !l.Allow() || !a.first.all.Allow() {
		a.log.Warn("first_admin_tries_exhausted", "user", identity)
		return false
	}
	if subtle.ConstantTimeCompare([]byte(code), []byte(a.first.code)) != 1 {
		return false
	}
	a.first.code = ""
	return true
}

// codeOf finds a code in what a stranger wrote: "/start CODE", "/pair CODE" or
// the code alone.
func codeOf(m ports.Message) (string, bool) {
	if !m.Private {
		return "", false
	}
	text := strings.TrimSpace(m.Text)
	for _, command := range []string{"/start", "/pair"} {
		if rest, ok := strings.CutPrefix(text, command+" "); ok {
			text = rest
		}
	}
	code := plainCode(text)
	return code, len(code) == codeLength && strings.Trim(code, alphabet) == ""
}

func tryLimit(n int) *rate.Limiter {
	return rate.NewLimiter(rate.Every(triesPer/time.Duration(n)), n)
}
