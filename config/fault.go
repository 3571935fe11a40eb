package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a config, and where. Line and Col count
// from 1, Col in characters. Path is empty where no key is concerned.
type Fault struct {
	File      string
	Line, Col int
	Path      string
	Text      string // what is wrong (what would be right)
}

// Error is FILE:LINE:COL: key.path: what is wrong (what would be right).
func (f Fault) Error() string {
	if f.Path == "" {
		return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Col, f.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Col, f.Path, f.Text)
}

// Faults is everything that is wrong, sorted by position, each fault once.
type Faults []Fault

// Error has one line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Join makes one error of many, nil of none: all faults among them as one
// sorted Faults, beside what else there is. It is meant for the errors of Load
// and of the sections' Decode.
func Join(errs ...error) error {
	var faults Faults
	var others []error
	for _, err := range errs {
		var many Faults
		var one Fault
		switch {
		case err == nil:
		case errors.As(err, &many):
			faults = append(faults, many...)
		case errors.As(err, &one):
			faults = append(faults, one)
		default:
			others = append(others, err)
		}
	}
	if len(others) == 0 {
		return faults.err()
	}
	return errors.Join(append(others, faults.err())...)
}

// err is the faults in order and without doubles, or nil.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	sorted := slices.Clone(f)
	slices.SortStableFunc(sorted, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Col, b.Col),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Text, b.Text),
		)
	})
	return slices.Compact(sorted)
}
