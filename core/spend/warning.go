package spend

import (
	"context"
	"time"

	"dragoman/ports"
)

// Warning says that a cap is nearly reached: four fifths of it are spent, or a
// request was refused for it. It comes once a day for each account of a cap, and
// once more after a restart, with the same Key: who passes it on under that key
// says it once.
type Warning struct {
	Key          string // of the day, the cap and Who
	Cap          string // by its name in the config, as ports.SpendCap has it
	Who          string // the ports.PersonID, ports.ChatKey or agent; "" of the total
	Limit, Spent ports.Money
	Refused      bool // a request was
}

// look adds a warning if it is time for one.
func (l *Ledger) look(news []Warning, c charge, refused bool) []Warning {
	b := l.balance(c)
	if b.warned || !refused && b.spent < c.most-c.most/5 {
		return news
	}
	b.warned = true
	return append(news, Warning{Key: "spend/" + l.day.Format(time.DateOnly) + "/" + c.name + "/" + c.who,
		Cap: c.name, Who: c.who, Limit: c.most, Spent: b.spent, Refused: refused})
}

// tell passes warnings on. l.mu is not held.
func (l *Ledger) tell(ctx context.Context, news []Warning) {
	for _, w := range news {
		l.log.Warn("spend_cap_near", "cap", w.Cap, "of", w.Who, "limit", w.Limit.Dollars(), "spent", w.Spent.Dollars(), "refused", w.Refused)
		if l.warn != nil {
			l.warn(ctx, w)
		}
	}
}
