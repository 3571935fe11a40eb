package config

import (
	"strconv"
	"strings"
	"time"
)

const rateWords = mustBe(`a count and a duration like "30/1m", or "" for none`)

// Rate is so many in a time. The zero Rate is no limit.
type Rate struct {
	Count int
	Per   time.Duration
}

// UnmarshalText reads "30/1m"; "" is the zero Rate.
func (r *Rate) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*r = Rate{}
		return nil
	}
	count, per, found := strings.Cut(string(text), "/")
	n, countErr := strconv.Atoi(count)
	d, perErr := time.ParseDuration(per)
	if !found || countErr != nil || perErr != nil || n <= 0 || d <= 0 {
		return rateWords
	}
	*r = Rate{Count: n, Per: d}
	return nil
}

// Pattern is the form of a Rate's text.
func (Rate) Pattern() string { return `^(?:\+?0*[1-9][0-9]*/` + moreThanZero + `)?$` }
