package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// noisy is the share of the machine from which others spoil a row.
const noisy = 0.05

// Table is the run in Markdown that is aligned for a terminal.
func (r Result) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "commit %s, %s, %d cores, %s; ", r.Commit, r.Go, r.Cores, r.Date.Format("2006-01-02 15:04Z"))
	if r.MCP != nil {
		b.WriteString(r.MCP.table())
	} else {
		fmt.Fprintf(&b, "%g s a row, median of %d, %d messages a chat; a synced write takes %.2f ms\n", r.Seconds, r.Rounds, r.Depth, r.SyncMS)
	}
	if len(r.Starts) > 0 {
		b.WriteString("\n" + r.startTable())
	}
	if r.Recovery != nil {
		b.WriteString("\n" + r.Recovery.table())
	}
	if len(r.Rows) > 0 {
		b.WriteString("\n" + r.loadTable())
		b.WriteString("\nms added: from the update's leaving to the answer's arrival, without the model's set time; whole: from the question on.\n" +
			"CPU: seconds per 1,000 turns, of the process alone; load: of fakes and load; others: share of the machine, ! = too much to believe the row.\n" +
			"x: by how much the gateway needs or takes more than the bare loop.\n")
	}
	if verdicts := r.verdicts(); len(verdicts) > 0 {
		b.WriteString("\n" + grid([]string{"goal", "", "figure", ""}, verdicts))
	}
	return b.String()
}

func (r Result) startTable() string {
	var rows [][]string
	for _, s := range r.Starts {
		what := "no MCP server"
		if s.Tool {
			what = "one MCP server"
		}
		for _, line := range []struct {
			name string
			get  func(Start) float64
		}{
			{"exec to first poll, ms", func(s Start) float64 { return s.FirstPollMS }},
			{"the same, new database, ms", func(s Start) float64 { return s.FirstPollNewMS }},
			{"idle RSS, MB", func(s Start) float64 { return s.IdleMB }},
			{"of it anonymous, MB", func(s Start) float64 { return s.IdleAnonMB }},
			{"the server's own RSS, MB", func(s Start) float64 { return s.ToolServerMB }},
		} {
			if v := line.get(s.Gateway); v > 0 {
				rows = append(rows, []string{what, line.name, number(v), number(line.get(s.Bare)), ratio(v, line.get(s.Bare))})
			}
		}
	}
	return grid([]string{"start", "", "gateway", "bare", "x"}, rows)
}

func (r *Recovery) table() string {
	others := fmt.Sprintf("%.0f%%", 100*r.Others)
	if r.Others > noisy {
		others += " !"
	}
	return grid([]string{fmt.Sprintf("SIGKILL with %d turns in flight", r.InFlight), fmt.Sprintf("median of %d", r.Kills), "worst"}, [][]string{
		{"to the next life's first poll, ms", number(r.PollMS), ""},
		{"to the first answer, ms", number(r.FirstMS), number(r.FirstWorstMS)},
		{"to the last of the answers, ms", number(r.AllMS), number(r.AllWorstMS)},
		{"others", "", others},
	})
}

func (r Result) loadTable() string {
	head := []string{
		"load", "turns/s", "bare", "x", "added p50", "bare", "p99", "bare", "whole p50", "bare", "CPU", "bare", "x", "tool", "load", "429", "peak MB", "others",
	}
	var rows [][]string
	for _, row := range r.Rows {
		g, b := row.Gateway, row.Bare
		others := fmt.Sprintf("%.0f%%", 100*max(g.Others, b.Others))
		if max(g.Others, b.Others) > noisy {
			others += " !"
		}
		rows = append(rows, []string{
			row.Name, number(g.TurnsPerSecond), number(b.TurnsPerSecond), ratio(b.TurnsPerSecond, g.TurnsPerSecond),
			number(g.AddedP50MS), number(b.AddedP50MS), number(g.AddedP99MS), number(b.AddedP99MS), number(g.WholeP50MS), number(b.WholeP50MS),
			number(g.CPU), number(b.CPU), ratio(g.CPU, b.CPU), number(g.ToolCPU), number(g.LoadCPU),
			fmt.Sprint(g.Limited), number(g.PeakMB), others,
		})
	}
	return grid(head, rows)
}

// number is a figure with as many digits as mean something; nothing for 0.
func number(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v < 0.1 && v > -0.1:
		return fmt.Sprintf("%.3f", v)
	case v < 10 && v > -10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func ratio(v, of float64) string {
	if v == 0 || of == 0 {
		return "-"
	}
	return number(v / of)
}

// grid is a Markdown table, the first column to the left, the others to the right.
func grid(head []string, rows [][]string) string {
	width := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		for i, cell := range cells {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("| " + cell + space)
			} else {
				b.WriteString(" | " + space + cell)
			}
		}
		b.WriteString(" |\n")
	}
	line(head)
	for i, w := range width {
		if i == 0 {
			b.WriteString("|" + strings.Repeat("-", w+2))
		} else {
			b.WriteString("|" + strings.Repeat("-", w+1) + ":")
		}
	}
	b.WriteString("|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
