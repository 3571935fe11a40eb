package spend

import (
	"dragoman/ports"
)

// limit is a cap that is set.
type limit struct {
	name string // in the config
	most ports.Money
	of   func(ports.Payer) (who string, query ports.UsageQuery)
}

// charge is a request on one account.
type charge struct {
	limit
	account
	query ports.UsageQuery // of what was spent on it
}

func (c Caps) limits() (list []limit) {
	for _, l := range []limit{
		{"person_daily", c.Person, func(p ports.Payer) (string, ports.UsageQuery) {
			return string(p.Person), ports.UsageQuery{Person: p.Person}
		}},
		{"chat_daily", c.Chat, func(p ports.Payer) (string, ports.UsageQuery) {
			return ports.ChatKey(p.In), ports.UsageQuery{Channel: p.In.Channel, Chat: p.In.Chat}
		}},
		{"agent_daily", c.Agent, func(p ports.Payer) (string, ports.UsageQuery) { return p.Agent, ports.UsageQuery{Agent: p.Agent} }},
		{"total_daily", c.Total, func(ports.Payer) (string, ports.UsageQuery) { return "", ports.UsageQuery{} }},
	} {
		if l.most > 0 {
			list = append(list, l)
		}
	}
	return list
}

func (l *Ledger) charges(p ports.Payer) []charge {
	list := make([]charge, len(l.caps))
	for i, c := range l.caps {
		who, query := c.of(p)
		list[i] = charge{limit: c, account: account{cap: c.name, who: who}, query: query}
	}
	return list
}
