package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// catalogs are the recorded tools of ten servers.
const catalogs = "../../core/toolbox/testdata/catalog"

// serveCatalog is the test binary as an MCP server that has the tools of a file, and
// does nothing in them but say so.
func serveCatalog(file string) {
	var c struct{ Tools []any }
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		panic(err)
	}
	serveMCP(filepath.Base(file), c.Tools, func(tool string) any {
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": "ran " + tool}}}
	})
}

// searching is a model that finds a tool before it calls it, and calls none that it
// is not offered.
type searching struct {
	mu     sync.Mutex
	faults []string
	last   map[string]model.Request // by what was said
}

func (s *searching) answer(q model.Request) model.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[q.Said()] = q
	tool, query, ok := strings.Cut(q.Said(), ": ")
	switch {
	case !ok:
		return model.Reply{Text: "You said " + q.Said()}
	case q.Last().Role == "tool" && strings.HasPrefix(q.Last().Text, "ran "):
		return model.Reply{Text: "It " + q.Last().Text}
	case slices.Contains(q.Tools, tool):
		return model.Reply{Calls: []model.Call{{Name: tool, Arguments: `{}`}}}
	case q.Last().Role == "tool":
		return model.Reply{Text: "It is not there: " + q.Last().Text}
	case !slices.Contains(q.Tools, "find_tools"):
		s.faults = append(s.faults, "no search is offered, but "+strings.Join(q.Tools, " "))
		return model.Reply{Text: "I cannot search."}
	}
	arguments, _ := json.Marshal(map[string]string{"query": query})
	return model.Reply{Calls: []model.Call{{Name: "find_tools", Arguments: string(arguments)}}}
}

// given is the last request in which this was said last.
func (s *searching) given(said string) model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[said]
}

// TestAModelFindsOneOfManyTools: 300 tools of ten servers.
func TestAModelFindsOneOfManyTools(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	s := &searching{last: map[string]model.Request{}}
	m := model.New(model.Options{Answer: s.answer})
	t.Cleanup(m.Close)
	g := startGateway(t, `{"listen": "${LISTEN}", "models": {"main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "model": "m", "api_key": "k"}},
		"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}}, "access": {"mode": "open", "rate": ""},
		"mcp_servers": {`+catalogServers(t)+`}, "mcp": {"timeout": "60s"}, "tools": {"default": "allow"}}`)
	h := &hostile{gateway: g, tg: tg}
	ann, bob, cy := tg.User(1, "Ann"), tg.User(2, "Bob"), tg.User(3, "Cy")
	g.WaitLine("mcp_servers_connected", 2*readyWithin)

	const tool, other = "todoist__get_tasks_list", "calendar__list-calendars"
	ann.Say(tool + ": what tasks do I have")
	h.outcome(t, ann, 1, is("It ran get_tasks_list"))
	ann.Say("one")
	h.outcome(t, ann, 2, is("You said one"))
	first := s.given("one")
	if at := slices.Index(first.Tools, tool); at < 3 || !slices.Equal(first.Tools[:3], []string{"find_tools", "read_artifact", "time"}) || len(first.Tools) > 20 {
		t.Fatalf("the model is offered %q", first.Tools)
	}
	ann.Say("two")
	h.outcome(t, ann, 3, is("You said two"))
	if s.given("two").Offered != first.Offered {
		t.Error("nothing was found, and the tools are other bytes")
	}
	bob.Say("mine")
	h.outcome(t, bob, 1, is("You said mine"))
	if got := s.given("mine").Tools; len(got) != 3 {
		t.Errorf("somebody else is offered %q", got)
	}

	g.Restart()
	g.WaitLine("mcp_servers_connected", 2*readyWithin)
	ann.Say("three")
	h.outcome(t, ann, 4, is("You said three"))
	if s.given("three").Offered != first.Offered {
		t.Errorf("after a restart the model is offered %q, want %q", s.given("three").Tools, first.Tools)
	}
	ann.Say(tool + ": again")
	h.outcome(t, ann, 5, is("It ran get_tasks_list"))
	ann.Say(other + ": which calendars are there")
	h.outcome(t, ann, 6, is("It ran list-calendars"))
	if got := s.given(other + ": which calendars are there").Offered; !strings.HasPrefix(got, strings.TrimSuffix(first.Offered, "]")) {
		t.Error("what was found later changed the bytes before it")
	}
	for _, fault := range s.faults {
		t.Error(fault)
	}
	listsAll(t, h, cy)
}

// listsAll looks at the lists for people, which are of all tools.
func listsAll(t *testing.T, h *hostile, u *telegram.User) {
	t.Helper()
	out, _, code := h.gateway.CLI("tools", "--json")
	var tools []struct{ Name string }
	if err := json.Unmarshal([]byte(out), &tools); err != nil || code != 0 || len(tools) != 302 {
		t.Errorf("dragoman tools ends with %d, %v, and lists %d", code, err, len(tools))
	}
	u.Say("/tools")
	eventually(t, time.Minute, "/tools lists all", func() error {
		var text strings.Builder
		for _, m := range h.tg.Sent(u.ID()) {
			text.WriteString(m.Text)
		}
		for _, want := range []string{"create_pull_request", "firecrawl_scrape", "create_tasks", "maps_elevation"} {
			if !strings.Contains(text.String(), want) {
				return fmt.Errorf("%s is not in it", want)
			}
		}
		return nil
	})
}

// catalogServers is the config of a server for each catalog.
func catalogServers(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(catalogs + "/*.json")
	if err != nil || len(files) != 10 {
		t.Fatal("there are not ten catalogs", err)
	}
	var servers []string
	for _, file := range files {
		whole, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, quoted(strings.TrimSuffix(filepath.Base(file), ".json"))+`: {"command": `+quoted(os.Args[0])+`, "env": {"E2E_CATALOG": `+quoted(whole)+`}}`)
	}
	return strings.Join(servers, ", ")
}
