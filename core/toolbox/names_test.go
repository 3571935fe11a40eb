package toolbox

import (
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// own lists the tools as "name = server/own", by name.
func own(b *Toolbox) []string {
	var list []string
	for _, t := range b.Tools() {
		list = append(list, t.Name+" = "+t.Server+"/"+t.Tool)
	}
	return list
}

func TestNoNameIsMoreThanModelsAcceptAndNoneIsLost(t *testing.T) {
	accepted := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	long := strings.Repeat("x", 60)
	all := []string{"工具一", "工具二", "été", "e\u0301te\u0301", "Get", "get", "a b", "a.b", "a/b", "a\u00a0b", "_b", "b_", "-", "__", "___", "💥", "\xff\xfe",
		long + "1", long + "2", strings.Repeat("ü", 64), strings.Repeat("y", 128), "x\u202egnp.exe", "DROP TABLE;", "with\ttab"}
	b := newBox(Config{Default: ports.PolicyAsk})
	b.Add(Source{Name: "a"}).Register(named(all...))
	b.Add(Source{Name: strings.Repeat("s", 64)}).Register(named("one", "two"))
	got := b.Tools()
	if len(got) != len(all)+2 {
		t.Errorf("of %d tools %d are left: %q", len(all)+2, len(got), own(b))
	}
	for _, info := range got {
		if !accepted.MatchString(info.Name) {
			t.Errorf("no model accepts %q, the name of %q", info.Name, info.Tool)
		}
		if server, tool := b.Origin(info.Name); server != info.Server || tool != info.Tool {
			t.Errorf("%s leads to %s/%s", info.Name, server, tool)
		}
	}
}

func TestAllThatClashGetASuffixAndTheLogSaysSo(t *testing.T) {
	var log strings.Builder
	b := New(Config{Default: ports.PolicyAsk}, nil, new(guard.Leaks), slog.New(slog.NewTextHandler(&log, nil)))
	reg := b.Add(Source{Name: "a"})
	reg.Register(named("x.y", "x/y", "x_y", "z"))
	list := names(b.Tools())
	if len(list) != 4 || slices.Contains(list, "a__x_y") || !slices.Contains(list, "a__z") {
		t.Errorf("the tools are %q", list)
	}
	if n := strings.Count(log.String(), "msg=tool_renamed"); n != 3 || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("%d warnings: %s", n, log.String())
	}
	reg.Register(named("z", "x_y", "x/y", "x.y"))
	if again := names(b.Tools()); !reflect.DeepEqual(again, list) {
		t.Errorf("in another order they are %q, not %q", again, list)
	}
	if n := strings.Count(log.String(), "msg=tool_renamed"); n != 3 {
		t.Errorf("what was said before is said again: %d warnings", n)
	}
	reg.Register(named("x_y", "z"))
	if alone := names(b.Tools()); !reflect.DeepEqual(alone, []string{"a__x_y", "a__z"}) {
		t.Errorf("what clashes with nothing any more is %q", alone)
	}
}

// TestNoServerMovesAnothersNames also when its tools, and its own name, are made for it.
func TestNoServerMovesAnothersNames(t *testing.T) {
	b := newBox(Config{Default: ports.PolicyAsk})
	b.Add(Source{Name: ""}).Register(named("time"))
	b.Add(Source{Name: "a"}).Register(named("b", "_b", "b__c", "x.y", "x/y", strings.Repeat("l", 100)))
	before := own(b)
	others := map[string][]string{
		"a_b": {"c", "_c"}, "a-b": {"time"}, "b": {"b", "a__b"}, "time": {"", "time"}, "A": {"b", "x.y"}, "a_b_c": {"a__b", "read_artifact"},
	}
	var regs []ports.Registrar
	for name, tools := range others {
		reg := b.Add(Source{Name: name})
		reg.Register(named(tools...))
		regs = append(regs, reg)
	}
	var still []string
	for _, line := range own(b) {
		if strings.Contains(line, "= a/") || strings.Contains(line, "= /") {
			still = append(still, line)
		}
	}
	if !reflect.DeepEqual(still, before) {
		t.Errorf("with other servers the names are\n%q, not\n%q", still, before)
	}
	for _, reg := range regs {
		reg.Register(ports.Catalog{})
	}
	if after := own(b); !reflect.DeepEqual(after, before) {
		t.Errorf("without them again they are\n%q, not\n%q", after, before)
	}
}

func TestAToolCannotTakeASuffixedName(t *testing.T) {
	taken := strings.TrimPrefix(suffixed("a__x_y", "a", "x.y"), "a__")
	want := []string{"a__" + taken + " = a/" + taken, suffixed("a__x_y", "a", "x/y") + " = a/x/y"}
	slices.Sort(want)
	tools := []string{"x.y", "x/y", taken}
	for range 20 {
		rand.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		b := newBox(Config{})
		b.Add(Source{Name: "a"}).Register(named(tools...))
		if got := own(b); !reflect.DeepEqual(got, want) {
			t.Fatalf("the tools are %q, want %q: one must not be called instead of the other", got, want)
		}
	}
}

// TestAServerCannotShakeOffADeny by a second tool that clashes with the one denied.
func TestAServerCannotShakeOffADeny(t *testing.T) {
	long := "delete_" + strings.Repeat("x", 80)
	suffix := suffixed("f__wipe", "f", "wipe")
	b := newBox(Config{Default: ports.PolicyAllow, Policy: map[string]ports.Policy{
		"f__*": ports.PolicyAllow, "f__delete_all": ports.PolicyDeny, "f__send_mail": ports.PolicyAsk, "f__" + long: ports.PolicyDeny,
		suffix: ports.PolicyDeny, "f__rm.all": ports.PolicyDeny, "f__read_x": ports.PolicyAllow, "f__read_*": ports.PolicyAsk,
	}})
	b.Add(Source{Name: "f"}).Register(named("delete_all", "delete.all", "send_mail", "send.mail", long, "wipe", "rm.all", "read_x", "read.x", "hidden_a", "hidden.a", "plain"))
	want := map[string]ports.Policy{"delete_all": "deny", "delete.all": "deny", "send_mail": "ask", "send.mail": "ask", long: "deny", "wipe": "deny",
		"rm.all": "deny", "read_x": "ask", "read.x": "ask", "hidden_a": "allow", "hidden.a": "allow", "plain": "allow"}
	for _, info := range b.Tools() {
		if info.Policy != want[info.Tool] {
			t.Errorf("%s (%s) is %s, want %s", info.Tool, info.Name, info.Policy, want[info.Tool])
		}
	}
	v := b.View(Filter{Deny: []string{"f__hidden_a", "f__plain"}}, nil)
	for _, s := range v.Specs(t.Context(), ports.Conversation{}) {
		if strings.Contains(s.Name, "hidden") || s.Name == "f__plain" {
			t.Errorf("the agent sees %s", s.Name)
		}
	}
}

func TestAServersOwnAllowAndDeny(t *testing.T) {
	all := []string{"read", "read_all", "write", "write_all", "Delete", "a.b", "*"}
	for name, test := range map[string]struct {
		filter  Filter
		listed  string
		allowed string
	}{
		"neither":          {Filter{}, "* Delete a.b read read_all write write_all", "* Delete a.b read read_all write write_all"},
		"allow":            {Filter{Allow: []string{"read*"}}, "read read_all", "read read_all"},
		"exact":            {Filter{Allow: []string{"read", "a.b"}}, "a.b read", "a.b read"},
		"deny":             {Filter{Deny: []string{"*_all", "Delete"}}, "* Delete a.b read read_all write write_all", "* a.b read write"},
		"deny wins":        {Filter{Allow: []string{"*"}, Deny: []string{"write*"}}, "* Delete a.b read read_all write write_all", "* Delete a.b read read_all"},
		"case counts":      {Filter{Deny: []string{"delete"}}, "* Delete a.b read read_all write write_all", "* Delete a.b read read_all write write_all"},
		"own names only":   {Filter{Allow: []string{"s__read", "a_b"}}, "", ""},
		"nothing is empty": {Filter{Allow: []string{""}}, "", ""},
	} {
		b := newBox(Config{Default: ports.PolicyAllow})
		b.Add(Source{Name: "s", Tools: test.filter}).Register(named(all...))
		var listed, allowed []string
		for _, info := range b.Tools() {
			listed = append(listed, info.Tool)
			if b.View(Filter{}, nil).Check(t.Context(), ports.Call{Name: info.Name, Arguments: json.RawMessage(`{}`)}).Outcome == "" {
				allowed = append(allowed, info.Tool)
			}
		}
		slices.Sort(listed)
		slices.Sort(allowed)
		if strings.Join(listed, " ") != test.listed || strings.Join(allowed, " ") != test.allowed {
			t.Errorf("%s: listed %q, allowed %q", name, listed, allowed)
		}
	}
}
