package gateway

import (
	"strings"
	"testing"

	"dragoman/core/spend"
)

func TestAdminsAreToldWhoseCapIsNearlyReached(t *testing.T) {
	for _, c := range []struct {
		w    spend.Warning
		want string
	}{
		{spend.Warning{Cap: "person_daily", Who: "ann", Limit: 2e9, Spent: 16e8}, "Of the $2.00 that person `ann` may spend on models in a day, $1.60 are spent today. It begins"},
		{spend.Warning{Cap: "chat_daily", Who: "tg:7", Limit: 5e7, Spent: 4e7, Refused: true}, "Of the $0.0500 that chat `tg:7` may spend on models in a day, $0.0400 are spent today. A request was refused"},
		{spend.Warning{Cap: "agent_daily", Who: "main", Limit: 2e9, Spent: 2e9}, "agent `main`"},
		{spend.Warning{Cap: "total_daily", Limit: 2e9, Spent: 2e9}, "everybody together"},
	} {
		got := capText(c.w)
		if !strings.Contains(got, c.want) || !strings.Contains(got, "limits.spend."+c.w.Cap) {
			t.Errorf("said %q, want %q", got, c.want)
		}
	}
}
