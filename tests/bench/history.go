package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// appendHistory adds a run to the history.
func appendHistory(file string, r Result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func readHistory(file string) ([]Result, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []Result
	for i, line := range bytes.Split(bytes.TrimSpace(b), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// compareLast shows the last run against the one before.
func compareLast(w io.Writer, file string) error {
	all, err := readHistory(file)
	if err != nil {
		return err
	}
	if len(all) < 2 {
		return fmt.Errorf("the history has %d runs; to compare takes two", len(all))
	}
	fmt.Fprint(w, compare(all[len(all)-2], all[len(all)-1]))
	return nil
}

// compare shows what two runs have in common: before, after, and the change.
func compare(before, after Result) string {
	head := fmt.Sprintf("%s (%s, %s) -> %s (%s, %s)\n", before.Commit, before.Date.Format("2006-01-02 15:04Z"), before.Go,
		after.Commit, after.Date.Format("2006-01-02 15:04Z"), after.Go)
	if before.Cores != after.Cores || before.Depth != after.Depth ||
		before.Seconds != after.Seconds || before.Rounds != after.Rounds {
		head += fmt.Sprintf("They were not measured alike: %d cores, %g s, %d rounds, %d messages a chat before; "+
			"%d cores, %g s, %d rounds, %d messages after.\n",
			before.Cores, before.Seconds, before.Rounds, before.Depth, after.Cores, after.Seconds, after.Rounds, after.Depth)
	}
	var rows [][]string
	add := func(name, figure string, was, is float64) {
		if was != 0 || is != 0 {
			rows = append(rows, []string{name, figure, number(was), number(is), change(was, is)})
		}
	}
	for _, b := range after.Starts {
		for _, a := range before.Starts {
			if a.Tool == b.Tool {
				name := "start"
				if a.Tool {
					name = "start, one MCP server"
				}
				add(name, "first poll ms", a.Gateway.FirstPollMS, b.Gateway.FirstPollMS)
				add(name, "idle MB", a.Gateway.IdleMB, b.Gateway.IdleMB)
			}
		}
	}
	if a, b := before.Recovery, after.Recovery; a != nil && b != nil && a.InFlight == b.InFlight {
		add("SIGKILL", "first answer ms", a.FirstMS, b.FirstMS)
		add("SIGKILL", "last answer ms", a.AllMS, b.AllMS)
	}
	for _, b := range after.Rows {
		for _, a := range before.Rows {
			if a.Load == b.Load {
				add(b.Name, "turns/s", a.Gateway.TurnsPerSecond, b.Gateway.TurnsPerSecond)
				add(b.Name, "added p50 ms", a.Gateway.AddedP50MS, b.Gateway.AddedP50MS)
				add(b.Name, "added p99 ms", a.Gateway.AddedP99MS, b.Gateway.AddedP99MS)
				add(b.Name, "CPU s", a.Gateway.CPU, b.Gateway.CPU)
				add(b.Name, "bare CPU s", a.Bare.CPU, b.Bare.CPU)
			}
		}
	}
	return head + "\n" + grid([]string{"load", "figure", "before", "after", "change"}, rows)
}

func change(was, is float64) string {
	if was == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.0f%%", 100*(is/was-1))
}
