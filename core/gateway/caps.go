package gateway

import (
	"fmt"

	"dragoman/core/agent"
	"dragoman/core/spend"
)

// Caps are what may be spent on models in a day; 0 = no cap.
type Caps = spend.Caps

var _ agent.Purse = (*spend.Ledger)(nil)

// capText is what admins are told of a cap that is nearly reached.
func capText(w spend.Warning) string {
	whose := map[string]string{"person_daily": "person `" + w.Who + "`", "chat_daily": "chat `" + w.Who + "`", "agent_daily": "agent `" + w.Who + "`", "total_daily": "everybody together"}[w.Cap]
	text := fmt.Sprintf("Of the %s that %s may spend on models in a day, %s are spent today.", w.Limit, whose, w.Spent)
	if w.Refused {
		text += " A request was refused, because it could have cost more than what is left."
	}
	return text + " It begins anew at midnight; the cap is `limits.spend." + w.Cap + "` in the config, and `dragoman usage --by person` shows who spent what."
}
