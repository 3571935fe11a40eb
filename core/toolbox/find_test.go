package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/ports"
)

// openRecords is a real store.
func openRecords(t testing.TB) ports.Records {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Config{Dir: t.TempDir(), Sync: "normal"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var here = ports.Conversation{Channel: "tg", Chat: "1"}

// allowAll has the limit that the config has if none is given.
var allowAll = Config{Default: ports.PolicyAllow, SearchAbove: 12000}

// roomy has room for all that a test finds.
var roomy = Config{Default: ports.PolicyAllow, SearchAbove: 50_000}

// searcher is an agent's view of the recorded tools and two built-in ones.
func searcher(t testing.TB, cfg Config) (*Toolbox, *View) {
	t.Helper()
	b := catalogBox(t, cfg)
	b.Add(Source{}).Register(named("time", "read_artifact"))
	return b, b.View(Filter{}, nil).Finding("main", openRecords(t))
}

// run checks and calls, as a turn does.
func run(t testing.TB, v *View, in ports.Conversation, name, args string) ports.CallResult {
	t.Helper()
	call := ports.Call{Name: name, Arguments: json.RawMessage(args)}
	if r := v.Check(t.Context(), call); r.Outcome != "" || r.NeedsApproval() {
		return ports.CallResult{Outcome: r.Outcome, Text: r.Why}
	}
	return v.Call(t.Context(), ports.ToolCall{Call: call, Turn: "t#1", In: in, Key: "t#1/0/0"}, nil)
}

// find searches, and gives the names that the result lists.
func find(t testing.TB, v *View, in ports.Conversation, query string) (names []string) {
	t.Helper()
	args, _ := json.Marshal(map[string]string{"query": query})
	r := run(t, v, in, findTools, string(args))
	if r.Outcome != ports.CallOK {
		t.Fatalf("the search for %q is %s: %s", query, r.Outcome, r.Text)
	}
	for line := range strings.Lines(r.Text) {
		if rest, ok := strings.CutPrefix(line, "- "); ok {
			name, _, _ := strings.Cut(rest, ":")
			names = append(names, name)
		}
	}
	return names
}

func shown(t testing.TB, v *View, in ports.Conversation) (names []string) {
	t.Helper()
	for _, s := range v.Specs(t.Context(), in) {
		names = append(names, s.Name)
	}
	return names
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

var base = []string{findTools, "read_artifact", "time"}

func TestWhatIsFoundIsShownInTheOrderOfFinding(t *testing.T) {
	_, v := searcher(t, roomy)
	equal(t, "at first", shown(t, v, here), base)
	first := find(t, v, here, "create a calendar event")
	if len(first) == 0 || len(first) > findLimit || !slices.Contains(first, "calendar__create-event") {
		t.Fatalf("found %q", first)
	}
	equal(t, "after a search", shown(t, v, here), slices.Concat(base, first))
	before, _ := json.Marshal(v.Specs(t.Context(), here))
	again, _ := json.Marshal(v.Specs(t.Context(), here))
	if string(again) != string(before) {
		t.Error("the next list is another, and nothing was found")
	}
	second := find(t, v, here, "send a slack message")
	equal(t, "after another", shown(t, v, here), slices.Concat(base, first, slices.DeleteFunc(second, func(n string) bool { return slices.Contains(first, n) })))
	after, _ := json.Marshal(v.Specs(t.Context(), here))
	if !strings.HasPrefix(string(after), strings.TrimSuffix(string(before), "]")) {
		t.Error("what was found later changed what stood there before")
	}
	find(t, v, here, "create a calendar event")
	last, _ := json.Marshal(v.Specs(t.Context(), here))
	if string(last) != string(after) {
		t.Error("what was found again changed the list")
	}
}

func TestFewToolsAreAllShown(t *testing.T) {
	for name, above := range map[string]int{"they take less": 1_000_000, "never search": 0} {
		t.Run(name, func(t *testing.T) {
			b, v := searcher(t, Config{Default: ports.PolicyAllow, SearchAbove: above})
			equal(t, "shown", shown(t, v, here), names(b.Tools()))
			if got := run(t, v, here, findTools, `{"query":"x"}`).Outcome; above == 0 && got != ports.CallNotFound {
				t.Errorf("a search is %s", got)
			}
		})
	}
}

func TestTheLimitIsWhereTheDefinitionsAreLarger(t *testing.T) {
	box := newBox(Config{Default: ports.PolicyAllow})
	box.Add(Source{Name: "a"}).Register(named("x", "y"))
	_, size := box.View(Filter{}, nil).seen()
	for above, searches := range map[int]bool{size: false, size - 1: true} {
		b := newBox(Config{Default: ports.PolicyAllow, SearchAbove: above})
		b.Add(Source{Name: "a"}).Register(named("x", "y"))
		got := shown(t, b.View(Filter{}, nil).Finding("main", openRecords(t)), here)
		if slices.Contains(got, findTools) != searches {
			t.Errorf("%d tokens with %d allowed: %q", size, above, got)
		}
	}
}

func TestWhatIsFoundIsNobodyElses(t *testing.T) {
	b, v := searcher(t, allowAll)
	found := find(t, v, here, "open a pull request")
	other := b.View(Filter{}, nil).Finding("other", v.records)
	for _, c := range []struct {
		who  string
		view *View
		in   ports.Conversation
		want []string
	}{
		{"after a restart", catalogAgain(t).View(Filter{}, nil).Finding("main", v.records), here, slices.Concat(base, found)},
		{"another agent", other, here, base},
		{"another chat", v, ports.Conversation{Channel: "tg", Chat: "2"}, base},
		{"another channel", v, ports.Conversation{Channel: "dc", Chat: "1"}, base},
		{"a thread", v, ports.Conversation{Channel: "tg", Chat: "1", Thread: "9"}, base},
	} {
		equal(t, c.who, shown(t, c.view, c.in), c.want)
	}
}

func catalogAgain(t testing.TB) *Toolbox {
	b := catalogBox(t, allowAll)
	b.Add(Source{}).Register(named("time", "read_artifact"))
	return b
}

func TestACallCountsAsFound(t *testing.T) {
	_, v := searcher(t, Config{Default: ports.PolicyAllow, SearchAbove: 12000,
		Policy: map[string]ports.Policy{"maps__*": ports.PolicyAsk, "slack__*": ports.PolicyDeny}})
	r := run(t, v, here, "todoist__get_tasks_list", `{}`)
	equal(t, "the call", r.Outcome, ports.CallOK)
	run(t, v, here, "time", `{}`)
	equal(t, "shown", shown(t, v, here), append(slices.Clone(base), "todoist__get_tasks_list"))
	if r := v.Check(t.Context(), ports.Call{Name: "maps__maps_geocode", Arguments: json.RawMessage(`{"address":"x"}`)}); !r.NeedsApproval() {
		t.Errorf("a tool that was not found: %+v", r)
	}
	equal(t, "a denied one", run(t, v, here, "slack__slack_get_users", `{}`).Outcome, ports.CallDenied)
	equal(t, "an unknown one", run(t, v, here, "slack__nothing", `{}`).Outcome, ports.CallNotFound)
	equal(t, "shown after that", shown(t, v, here), append(slices.Clone(base), "todoist__get_tasks_list"))
}

func TestWhatAnAgentDoesNotSeeIsNeverFound(t *testing.T) {
	b := catalogBox(t, Config{Default: ports.PolicyAllow, SearchAbove: 1000, Policy: map[string]ports.Policy{"slack__*": ports.PolicyDeny}})
	v := b.View(Filter{Deny: []string{"todoist__*", "*__create-events"}}, []string{"slack", "todoist", "calendar"}).Finding("main", openRecords(t))
	for _, q := range questions(t) {
		for _, name := range find(t, v, here, q.Text) {
			if !strings.HasPrefix(name, "calendar__") || name == "calendar__create-events" {
				t.Fatalf("%q finds %s", q.Text, name)
			}
		}
	}
	spec := v.Specs(t.Context(), here)[0]
	if !strings.HasSuffix(spec.Description, "tools of: calendar.") {
		t.Errorf("it speaks of servers that are not there for it: %s", spec.Description)
	}
	if err := v.keep(t.Context(), here, []string{"slack__slack_get_users", "calendar__create-events"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range shown(t, v, here) {
		if name != findTools && (!strings.HasPrefix(name, "calendar__") || name == "calendar__create-events") {
			t.Errorf("%s is shown, which was found before the admin took it away", name)
		}
	}
}

func TestAFoundToolComesBackWithItsServer(t *testing.T) {
	b, v := searcher(t, roomy)
	first := find(t, v, here, "where is this address on the map")
	find(t, v, here, "send a slack message")
	all := shown(t, v, here)
	if !slices.Contains(first, "maps__maps_geocode") {
		t.Fatalf("found %q", first)
	}
	b.Remove("maps")
	equal(t, "without its server", shown(t, v, here), slices.DeleteFunc(slices.Clone(all), func(n string) bool { return strings.HasPrefix(n, "maps__") }))
	find(t, v, here, "read a web page")
	b.Add(Source{Name: "maps"}).Register(recordedTools(t)["maps"])
	got := shown(t, v, here)
	equal(t, "with it again", got[:len(all)], all)
}

// After a restart the servers are on their way while the first turns run.
func TestASearchWaitsForServersOnTheirWay(t *testing.T) {
	tools := recordedTools(t)["maps"]
	synctest.Test(t, func(t *testing.T) {
		b := catalogBox(t, roomy)
		b.Remove("maps")
		v := b.View(Filter{}, nil).Finding("main", nil)
		late := b.Add(Source{Name: "maps", Timeout: 30 * time.Second})
		late.State(ports.State{Phase: ports.PhaseConnecting})
		time.AfterFunc(5*time.Second, func() {
			late.Register(tools)
			late.State(ports.State{Phase: ports.PhaseReady})
		})
		if got := find(t, v, here, "where is this address on the map"); !slices.Contains(got, "maps__maps_geocode") {
			t.Errorf("found %q", got)
		}
		b.Remove("maps")
		b.Add(Source{Name: "maps", Timeout: 30 * time.Second}).State(ports.State{Phase: ports.PhaseConnecting})
		for _, query := range []string{"where is this address on the map", "qqqq zzzzz"} {
			began := time.Now()
			r := run(t, v, here, findTools, `{"query":"`+query+`"}`)
			if !strings.HasSuffix(r.Text, "so not searched: maps.") || time.Since(began) != 30*time.Second {
				t.Errorf("after %s the search says %q", time.Since(began), r.Text)
			}
		}
	})
}

func TestNothingFoundNamesTheServers(t *testing.T) {
	_, v := searcher(t, allowAll)
	r := run(t, v, here, findTools, `{"query":"qqqq zzzzz"}`)
	for _, server := range []string{"calendar", "todoist"} {
		if r.Outcome != ports.CallOK || !strings.Contains(r.Text, server) {
			t.Errorf("%s: %s", r.Outcome, r.Text)
		}
	}
	equal(t, "shown", shown(t, v, here), base)
}

func TestOneWhoAsksWronglyIsToldSo(t *testing.T) {
	_, v := searcher(t, allowAll)
	for _, args := range []string{``, `[]`, `{}`, `{"query":7}`, `{"query":"x","limit":0}`, `{"query":"x","limit":1000}`, `{"query":"x","limit":1.5}`, `{"query":"x","page":2}`} {
		if r := run(t, v, here, findTools, args); r.Outcome != ports.CallInvalidParams {
			t.Errorf("%s: %s %s", args, r.Outcome, r.Text)
		}
	}
	got := run(t, v, here, findTools, `{"query":"task","limit":2}`)
	if strings.Count(got.Text, "\n- ") != 2 {
		t.Errorf("two were wanted: %s", got.Text)
	}
}

func TestFindToolsIsNobodyElses(t *testing.T) {
	b, v := searcher(t, Config{Default: ports.PolicyAsk, SearchAbove: 100, Policy: map[string]ports.Policy{findTools: ports.PolicyDeny}})
	b.Add(Source{}).Register(named("time", findTools))
	if slices.Contains(names(b.Tools()), findTools) {
		t.Error("a source took its name")
	}
	if got := find(t, v, here, "create event"); len(got) == 0 {
		t.Error("a policy is about it, which does nothing")
	}
	server, own := b.Origin(findTools)
	equal(t, "its origin", []string{server, own}, []string{"", findTools})
	if _, r := b.Call(t.Context(), findTools, json.RawMessage(`{"query":"x"}`), ports.ToolCall{}, nil); r.Outcome != ports.CallNotFound {
		t.Errorf("an admin, who has all tools at hand, calls it: %s", r.Outcome)
	}
}

func TestFindsSideBySideAreAllKept(t *testing.T) {
	_, v := searcher(t, Config{Default: ports.PolicyAllow, SearchAbove: 100_000})
	var work sync.WaitGroup
	want := []string{"todoist__get_tasks_list", "todoist__get_labels_list", "slack__slack_get_users", "slack__slack_list_channels",
		"calendar__list-calendars", "todoist__get_projects_list", "todoist__get_sections_list", "calendar__list-colors"}
	for _, name := range want {
		work.Go(func() {
			if r := run(t, v, here, name, `{}`); r.Outcome != ports.CallOK {
				t.Errorf("%s: %s %s", name, r.Outcome, r.Text)
			}
		})
	}
	work.Wait()
	got := shown(t, v, here)
	slices.Sort(got)
	want = append(want, base...)
	slices.Sort(want)
	equal(t, "shown", got, want)
}

// unreadable is a store that is down.
type unreadable struct{ ports.Records }

func (unreadable) Get(context.Context, string, string, string) (ports.Record, error) {
	return ports.Record{}, &ports.Error{Kind: ports.KindUnavailable, Op: "get", Err: errors.New("no disk")}
}

func TestAStoreThatIsDownCostsTheSearchAlone(t *testing.T) {
	b, _ := searcher(t, allowAll)
	v := b.View(Filter{}, nil).Finding("main", unreadable{})
	equal(t, "shown", shown(t, v, here), base)
	if r := run(t, v, here, findTools, `{"query":"send message"}`); r.Outcome != ports.CallToolError || strings.Contains(r.Text, "disk") {
		t.Errorf("the search: %+v", r)
	}
	if r := run(t, v, here, "todoist__get_tasks_list", `{}`); r.Outcome != ports.CallOK {
		t.Errorf("a call: %+v", r)
	}
}

func TestTheLongestUnusedFallOut(t *testing.T) {
	b := newBox(Config{Default: ports.PolicyAllow, SearchAbove: 1000})
	var c ports.Catalog
	for i := range 50 {
		c.Tools = append(c.Tools, still{Name: fmt.Sprintf("t%02d", i), Description: fmt.Sprintf("word%02d. ", i) + strings.Repeat("x ", 300),
			InputSchema: json.RawMessage(`{"type":"object"}`)}) // 287 tokens each: three fit
	}
	b.Add(Source{Name: "s"}).Register(c)
	v := b.View(Filter{}, nil).Finding("main", openRecords(t))
	for _, step := range []struct {
		query, call string
		want        []string
	}{
		{"word01", "", []string{"s__t01"}},
		{"word02", "", []string{"s__t01", "s__t02"}},
		{"word03", "", []string{"s__t01", "s__t02", "s__t03"}},
		{"", "s__t01", []string{"s__t01", "s__t02", "s__t03"}},
		{"word04", "", []string{"s__t01", "s__t03", "s__t04"}},
		{"", "s__t09", []string{"s__t01", "s__t04", "s__t09"}},
		{"word01", "", []string{"s__t01", "s__t04", "s__t09"}},
		{"word05", "", []string{"s__t01", "s__t09", "s__t05"}},
	} {
		if step.query != "" {
			find(t, v, here, step.query)
		} else {
			run(t, v, here, step.call, `{}`)
		}
		equal(t, "after "+step.query+step.call, shown(t, v, here)[1:], step.want)
	}
	if got := find(t, v, here, strings.Repeat("x ", 3)); len(got) != 2 {
		t.Errorf("%d tools are found at once, and there is room for two in three quarters", len(got))
	}
}

func TestTheRecordStaysSmall(t *testing.T) {
	f := foundTools{V: 1}
	for i := range 1000 {
		f.find([]string{fmt.Sprint("gone", i)})
		f.trim(map[string]int{}, 1000)
	}
	if len(f.Tools) != foundMax || f.Tools[foundMax-1].Name != "gone999" {
		t.Errorf("%d tools, the last is %+v", len(f.Tools), f.Tools[len(f.Tools)-1])
	}
}

func TestARecordThatMakesNoSenseIsNone(t *testing.T) {
	_, v := searcher(t, allowAll)
	for i, body := range []string{`{"v":2,"tools":[{"name":"time"}]}`, `"x"`, `{"v":1,"tools":7}`} {
		in := ports.Conversation{Channel: "c", Chat: fmt.Sprint(i)}
		if _, err := v.records.Put(t.Context(), ports.Record{Scope: in.String(), Kind: kindFound, Key: "main", Body: json.RawMessage(body)}); err != nil {
			t.Fatal(err)
		}
		equal(t, body, shown(t, v, in), base)
		found := find(t, v, in, "send a slack message")
		equal(t, body, shown(t, v, in), slices.Concat(base, found))
	}
}

// A small model is shown only what leaves room for a conversation, whatever it
// searches for.
func TestWhatIsFoundLeavesRoomInASmallWindow(t *testing.T) {
	_, v := searcher(t, allowAll)
	const window = 8000
	v = v.Within(window)
	for _, query := range []string{"create a calendar event", "send a slack message", "open a pull request", "query the database", "take a screenshot", "read a file"} {
		find(t, v, here, query)
		size := 0
		for _, s := range v.Specs(t.Context(), here) {
			size += tokens(s)
		}
		if size > window*3/10 { // the built-in ones and find_tools are beside what was found
			t.Errorf("after %q the tools take %d tokens of %d", query, size, window)
		}
	}
}
