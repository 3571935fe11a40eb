package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"dragoman/ports"
)

// usageDays is how many days are summed up where nobody says otherwise, today included.
const usageDays = 30

// usageWords are what usage can be listed by.
var usageWords = []string{string(ports.UsageByDay), string(ports.UsageByPerson), string(ports.UsageByChat), string(ports.UsageByAgent), string(ports.UsageByModel), string(ports.UsageByTurn)}

func newUsage(file *string) *cobra.Command {
	var (
		asJSON bool
		days   int
		by     string
	)
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "What was spent on models: tokens and dollars by day, person, chat, agent, model or turn",
		Long: `List what was spent on models in the last days, today included: by day in order
of time, by anything else the most expensive first. A request to a model whose
price is not known counts as unpriced; the cost lacks it.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 {
				return usageError{fmt.Errorf("--days must be at least 1, not %d", days)}
			}
			if !slices.Contains(usageWords, by) {
				return usageError{fmt.Errorf("--by must be one of %s, not %q", strings.Join(usageWords, ", "), by)}
			}
			now := time.Now()
			since := time.Date(now.Year(), now.Month(), now.Day()+1-days, 0, 0, 0, 0, now.Location())
			return withRecords(cmd.Context(), *file, func(ctx context.Context, a ports.Admin) error {
				list, err := usedBy(ctx, a, ports.UsageQuery{Since: since, By: ports.UsageBy(by)})
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), append([]usedLine{}, list...))
				}
				return printUsed(cmd.OutOrStdout(), list, by, since)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&days, "days", usageDays, "how many days, today included")
	cmd.Flags().StringVar(&by, "by", string(ports.UsageByDay), strings.Join(usageWords, ", "))
	return cmd
}

// usedLine is one line of the listing.
type usedLine struct {
	Key         string  `json:"key"`
	Name        string  `json:"name,omitempty"` // of a person
	Requests    int     `json:"requests"`
	Input       int     `json:"input"` // tokens, the cached ones among them
	CachedInput int     `json:"cached_input"`
	CacheWrite  int     `json:"cache_write"`
	Output      int     `json:"output"`
	Cost        float64 `json:"cost_usd"`
	Unpriced    int     `json:"unpriced"`
	money       ports.Money
}

func usedBy(ctx context.Context, a ports.Admin, q ports.UsageQuery) ([]usedLine, error) {
	used, err := a.Used(ctx, q)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	if q.By == ports.UsageByPerson {
		people, err := a.Pairings(ctx)
		if err != nil {
			return nil, err
		}
		for _, p := range people {
			if p.ID != "" {
				names[p.ID] = cmp.Or(names[p.ID], p.Name, p.Identity)
			}
		}
	}
	var list []usedLine
	for _, u := range used {
		list = append(list, usedLine{Key: u.Key, Name: names[u.Key], Requests: u.Requests, Input: u.Input, CachedInput: u.CachedInput,
			CacheWrite: u.CacheWrite, Output: u.Output, Cost: u.Cost.Dollars(), Unpriced: u.Unpriced, money: u.Cost})
	}
	if q.By == ports.UsageByDay {
		slices.SortFunc(list, func(a, b usedLine) int { return strings.Compare(a.Key, b.Key) })
	}
	return list, nil
}

func printUsed(w io.Writer, list []usedLine, by string, since time.Time) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(w, "No model was asked since %s.\n", since.Format(time.DateOnly))
		return err
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tab, "%s\tREQUESTS\tINPUT\tCACHED\tOUTPUT\tCOST\tUNPRICED\n", strings.ToUpper(by))
	all := usedLine{Key: "all"}
	for _, u := range list {
		u.print(tab)
		all.Requests += u.Requests
		all.Input += u.Input
		all.CachedInput += u.CachedInput
		all.Output += u.Output
		all.Unpriced += u.Unpriced
		all.money += u.money
	}
	if len(list) > 1 {
		all.print(tab)
	}
	return tab.Flush()
}

func (u usedLine) print(w io.Writer) {
	key, cost := cmp.Or(oneLine(u.Key), "-"), u.money.String()
	if u.Name != "" {
		key += " (" + oneLine(u.Name) + ")"
	}
	if u.Unpriced == u.Requests {
		cost = "-"
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\t%d\n", key, u.Requests, u.Input, u.CachedInput, u.Output, cost, u.Unpriced)
}
