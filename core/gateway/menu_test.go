package gateway

import (
	"regexp"
	"strings"
	"testing"
)

// What a platform lists is what /help lists.
func TestTheMenuHasTheCommandsOfHelp(t *testing.T) {
	g := New(Options{})
	list, help := g.menu(), g.help()
	if len(list) < 5 || len(list) != strings.Count(help, "\n- /") {
		t.Errorf("%d commands, and /help says\n%s", len(list), help)
	}
	takes := map[string]string{"model": "name", "busy": "mode", "start": "code"}
	for _, c := range list {
		if c.Takes != takes[c.Name] {
			t.Errorf("/%s takes %q, want %q", c.Name, c.Takes, takes[c.Name])
		}
		if !regexp.MustCompile(`^[a-z0-9_]{1,32}$`).MatchString(c.Name) || !strings.Contains(help, "/"+c.Name) || !regexp.MustCompile("^[A-Z][^`\n]{3,}$").MatchString(c.Says) {
			t.Errorf("a platform would not list %+v", c)
		}
	}
}
