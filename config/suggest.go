package config

import (
	"strconv"
	"strings"
)

const typos = 2 // so many letters may differ

// closest is the known name that was most likely meant, or "".
func closest(got string, known []string) string {
	got = strings.ToLower(got)
	best, bestCost := "", typos+1
	for _, name := range known {
		want := strings.ToLower(name)
		cost := distance(got, want)
		if isStart(got, want) {
			cost = min(cost, typos)
		}
		// Two letters of three are another word, not a typo.
		if cost < bestCost && (cost < max(len(got), len(want))-1 || cost == 0) {
			best, bestCost = name, cost
		}
	}
	return best
}

// isStart reports whether one of the words begins with the other, and that is telling.
func isStart(a, b string) bool {
	return min(len(a), len(b)) >= 3 && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// distance is how many letters have to be put in, left out or replaced (Levenshtein).
func distance(a, b string) int {
	if n := len(a) - len(b); n > typos || -n > typos {
		return typos + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Instead says what would be right: the name that was meant, or all of them.
func Instead(got string, known []string) string {
	if name := closest(got, known); name != "" {
		return "did you mean " + strconv.Quote(name) + "?"
	}
	if len(known) == 0 {
		return "nothing is allowed here"
	}
	return oneOf(known)
}

func oneOf(known []string) string {
	words := make([]string, len(known))
	for i, name := range known {
		words[i] = oneLine(name)
	}
	if len(words) == 1 {
		return "must be " + words[0]
	}
	return "must be one of " + strings.Join(words, ", ")
}
