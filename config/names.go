package config

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// nameForm is what the names of a kind of thing look like.
type nameForm struct {
	allowed *regexp.Regexp
	words   string
	single  bool // no _ at the ends and no __ inside: it parts server and tool
	stand   string
}

var (
	plainName = nameForm{
		allowed: regexp.MustCompile(`^[A-Za-z0-9_-]+$`),
		words:   "must be letters, digits, - and _",
		stand:   "main",
	}
	serverName = nameForm{
		allowed: regexp.MustCompile(`^[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*$`),
		words:   "must be letters, digits, - and single _ inside",
		single:  true,
		stand:   "server",
	}

	// entryNames are the forms of the names under the config's own keys.
	entryNames = map[string]nameForm{"models": plainName, "agents": plainName, "channels": plainName, "mcp_servers": serverName}
)

func (f nameForm) allows(name string) bool { return f.allowed.MatchString(name) }

// repair is a name of this form, as near as may be to one that is not, and not one of the others.
func (f nameForm) repair(name string, others []string) string {
	var parts []string
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !isNameRune(r) }) {
		if f.single {
			part = strings.Join(strings.FieldsFunc(part, func(r rune) bool { return r == '_' }), "_")
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	repaired := strings.Join(parts, "-")
	if repaired == "" {
		repaired = f.stand
	}
	free := repaired
	for n := 2; slices.Contains(others, free); n++ {
		free = repaired + "-" + strconv.Itoa(n)
	}
	return free
}

func isNameRune(r rune) bool {
	return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}
