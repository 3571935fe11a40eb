package toolbox

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// still is a tool that only has a spec.
type still ports.ToolSpec

func (s still) Spec() ports.ToolSpec { return ports.ToolSpec(s) }

func (s still) Call(context.Context, ports.ToolCall, ports.Host) (ports.ToolResult, error) {
	return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: s.Server + "/" + s.Name}}}, nil
}

func named(names ...string) ports.Catalog {
	var c ports.Catalog
	for _, n := range names {
		c.Tools = append(c.Tools, still{Name: n, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return c
}

func newBox(cfg Config) *Toolbox {
	return New(cfg, nil, new(guard.Leaks), slog.New(slog.DiscardHandler))
}

func names(list []ports.ToolInfo) []string {
	var out []string
	for _, t := range list {
		out = append(out, t.Name)
	}
	return out
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"files__read_*", "files__read_text", true},
		{"files__read_*", "files__write", false},
		{"*__delete_*", "files__delete_all", true},
		{"*__delete_*", "delete_all", false},
		{"*", "anything", true},
		{"exact", "exact", true},
		{"exact", "exactly", false},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "acb", false},
		{"a*a", "a", false},
		{"[a]*", "[a]/b.c", true},
		{"", "x", false},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("matches(%q, %q) is %v", c.pattern, c.name, got)
		}
	}
}

func TestNamesAreWhatModelsAccept(t *testing.T) {
	long := strings.Repeat("x", 80)
	b := newBox(Config{Default: ports.PolicyAsk})
	b.Add(Source{Name: ""}).Register(named("time"))
	b.Add(Source{Name: "a"}).Register(named("get.it", "get/it", "plain", long))
	got := names(b.Tools())
	if len(got) != 5 {
		t.Fatalf("%d tools: %q", len(got), got)
	}
	for _, n := range got {
		if len(n) > 64 || strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("no model accepts the name %q", n)
		}
	}
	for _, n := range got {
		if n == "a__get_it" {
			t.Error("of two that clash one kept the plain name: which one would depend on the other")
		}
	}
}

func TestANameDoesNotDependOnWhoCameFirst(t *testing.T) {
	one, two := newBox(Config{}), newBox(Config{})
	one.Add(Source{Name: "a"}).Register(named("x.y", "x/y"))
	two.Add(Source{Name: "a"}).Register(named("x/y", "x.y"))
	if a, b := names(one.Tools()), names(two.Tools()); !reflect.DeepEqual(a, b) {
		t.Errorf("%q and %q", a, b)
	}
}

func TestAToolThatIsThereTwiceIsDroppedNotTheServer(t *testing.T) {
	b := newBox(Config{})
	b.Add(Source{Name: "a"}).Register(named("x", "x", "", "y"))
	if got := names(b.Tools()); !reflect.DeepEqual(got, []string{"a__x", "a__y"}) {
		t.Errorf("tools are %q", got)
	}
}

func TestPolicy(t *testing.T) {
	cfg := Config{Default: ports.PolicyAsk, Policy: map[string]ports.Policy{
		"f__*": ports.PolicyAsk, "f__read_*": ports.PolicyAllow, "*__delete_*": ports.PolicyDeny, "f__tie_?": ports.PolicyAllow,
		"*_x": ports.PolicyAllow, "x_*": ports.PolicyAsk,
	}}
	for name, want := range map[string]ports.Policy{
		"f__read_text":   ports.PolicyAllow,
		"f__write":       ports.PolicyAsk,
		"f__delete_read": ports.PolicyDeny,
		"g__other":       ports.PolicyAsk,
		"x_x":            ports.PolicyAsk, // a tie goes to the stricter
	} {
		b := newBox(cfg)
		own := &tool{own: name, source: &source{Source: Source{Name: "f", Tools: Filter{}}}}
		if got := b.policy(name, own); got != want {
			t.Errorf("policy of %s is %s, want %s", name, got, want)
		}
	}
	b := newBox(cfg)
	denied := &tool{own: "read_text", source: &source{Source: Source{Name: "f", Tools: Filter{Deny: []string{"read_*"}}}}}
	if got := b.policy("f__read_text", denied); got != ports.PolicyDeny {
		t.Errorf("the server's deny gives %s", got)
	}
}

func TestTheAdminsWordOnAToolsClassCountsMoreThanItsServers(t *testing.T) {
	b := newBox(Config{Default: ports.PolicyAllow})
	c := named("read_a", "put_a", "write_a", "claims")
	c.Tools[3] = still{Name: "claims", Class: ports.ClassRead, InputSchema: json.RawMessage(`{"type":"object"}`)} // believed: its source is trusted
	b.Add(Source{Name: "f", ReadOnly: []string{"read_*"}, Idempotent: []string{"put_*", "read_*"}}).Register(c)
	for name, want := range map[string]ports.Class{"f__read_a": ports.ClassRead, "f__put_a": ports.ClassIdempotent,
		"f__write_a": ports.ClassUnsafe, "f__claims": ports.ClassRead} {
		if got := b.View(Filter{}, nil).Check(t.Context(), ports.Call{Name: name, Arguments: json.RawMessage(`{}`)}).Class; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestAnAgentSeesItsOwnTools(t *testing.T) {
	b := newBox(Config{Default: ports.PolicyAllow, Policy: map[string]ports.Policy{"a__no": ports.PolicyDeny}})
	b.Add(Source{Name: ""}).Register(named("time"))
	b.Add(Source{Name: "a"}).Register(named("yes", "no", "hidden"))
	b.Add(Source{Name: "b"}).Register(named("yes"))
	v := b.View(Filter{Allow: []string{"*"}, Deny: []string{"*__hidden"}}, []string{"a"})
	var got []string
	for _, s := range v.Specs(t.Context(), ports.Conversation{}) {
		got = append(got, s.Name)
	}
	if want := []string{"a__yes", "time"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the agent sees %q, want %q", got, want)
	}
	for _, name := range []string{"b__yes", "a__hidden"} {
		if r := v.Check(t.Context(), ports.Call{Name: name, Arguments: json.RawMessage("{}")}); r.Outcome != ports.CallNotFound {
			t.Errorf("a call of %s is ruled %+v", name, r)
		}
	}
}

func TestArgumentsAreCheckedAgainstTheOriginalSchema(t *testing.T) {
	schema := `{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer","minimum":1}},"required":["path"],"oneOf":[{"required":["n"]},{"required":["m"]}]}`
	b := newBox(Config{Default: ports.PolicyAllow})
	b.Add(Source{Name: "a"}).Register(ports.Catalog{Tools: []ports.ToolPort{
		still{Name: "t", InputSchema: json.RawMessage(schema)},
		still{Name: "broken", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"pattern":"(?=a)"}}}`)},
		still{Name: "remote", InputSchema: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)},
	}})
	v := b.View(Filter{}, nil)
	for args, fault := range map[string]string{
		`{"path":"x","n":1}`: "",
		`{"n":1}`:            "path",
		`{"path":"x","n":0}`: "/n",
		`{"path":"x"}`:       "m",
		`[]`:                 "object",
		`"text"`:             "object",
		`{"path":`:           "valid JSON",
	} {
		r := v.Check(t.Context(), ports.Call{Name: "a__t", Arguments: json.RawMessage(args)})
		if fault == "" && r.Outcome != "" || fault != "" && (r.Outcome != ports.CallInvalidParams || !strings.Contains(r.Why, fault)) {
			t.Errorf("%s is ruled %+v, want %q named", args, r, fault)
		}
	}
	for _, name := range []string{"a__broken", "a__remote"} {
		if r := v.Check(t.Context(), ports.Call{Name: name, Arguments: json.RawMessage(`{"x":"y"}`)}); r.Outcome != "" {
			t.Errorf("a schema that does not compile costs the tool %s: %+v", name, r)
		}
	}
}

func TestACallWaitsForItsServerToConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(Config{Default: ports.PolicyAllow})
		reg := b.Add(Source{Name: "a", Timeout: 5 * time.Second})
		slow := b.Add(Source{Name: "never", Timeout: 2 * time.Second})
		slow.State(ports.State{Phase: ports.PhaseConnecting})
		time.AfterFunc(3*time.Second, func() {
			reg.Register(named("x"))
			reg.State(ports.State{Phase: ports.PhaseReady})
		})
		v, began := b.View(Filter{}, nil), time.Now()
		if r := v.Check(t.Context(), ports.Call{Name: "a__x", Arguments: json.RawMessage("{}")}); r.Outcome != "" {
			t.Errorf("ruled %+v", r)
		}
		if d := time.Since(began); d != 3*time.Second {
			t.Errorf("it waited %s", d)
		}
		began = time.Now()
		if r := v.Check(t.Context(), ports.Call{Name: "never__x", Arguments: json.RawMessage("{}")}); r.Outcome != ports.CallTransport {
			t.Errorf("ruled %+v", r)
		}
		if d := time.Since(began); d != 2*time.Second {
			t.Errorf("it waited %s for a server whose time-out is 2s", d)
		}
		if r := v.Check(t.Context(), ports.Call{Name: "nobody__x", Arguments: json.RawMessage("{}")}); r.Outcome != ports.CallNotFound || time.Since(began) != 2*time.Second {
			t.Errorf("a server that is not configured is ruled %+v", r)
		}
	})
}

func TestReachedWaitsForEachServerAsLongAsItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(Config{})
		ready, heals, dead, parked := b.Add(Source{Name: "ready", Timeout: time.Minute}), b.Add(Source{Name: "heals", Timeout: 15 * time.Second}),
			b.Add(Source{Name: "dead", Timeout: 4 * time.Second}), b.Add(Source{Name: "parked", Timeout: time.Minute})
		ready.State(ports.State{Phase: ports.PhaseReady})
		parked.State(ports.State{Phase: ports.PhaseParked})
		heals.State(ports.State{Phase: ports.PhaseDegraded})
		dead.State(ports.State{Phase: ports.PhaseDegraded})
		began := time.Now()
		time.AfterFunc(7*time.Second, func() { heals.State(ports.State{Phase: ports.PhaseReady}) })
		b.Reached(t.Context())
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("it took %v, want the 7s after which one server was ready: the dead one had its 4s", took)
		}
		heals.State(ports.State{Phase: ports.PhaseDegraded})
		began = time.Now()
		b.Reached(t.Context())
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("it took %v, want the 15s that the server may take", took)
		}
	})
}

func TestAnIdleServersToolsAreReadyToBeCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox(Config{Default: ports.PolicyAllow})
		reg := b.Add(Source{Name: "a", Timeout: time.Minute})
		reg.Register(named("x"))
		reg.State(ports.State{Phase: ports.PhaseIdle})
		if list := b.Tools(); len(list) != 1 || list[0].State != "ready" {
			t.Errorf("the tools are %+v", list)
		}
		began := time.Now()
		b.Settled(t.Context())
		b.Reached(t.Context())
		if took := time.Since(began); took != 0 {
			t.Errorf("a server that is idle was waited for, %s", took)
		}
	})
}
