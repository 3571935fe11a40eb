package toolbox

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// doubling is a small schema whose faults double with each of its depth levels.
func doubling(depth int) json.RawMessage {
	var defs []string
	for i := range depth {
		defs = append(defs, fmt.Sprintf(`"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1))
	}
	defs = append(defs, fmt.Sprintf(`"a%d":{"type":"string"}`, depth))
	return json.RawMessage(`{"type":"object","properties":{"n":{"$ref":"#/$defs/a0"}},"$defs":{` + strings.Join(defs, ",") + `}}`)
}

func TestAHostileSchemaCannotFloodThePrompt(t *testing.T) {
	b := newBox(Config{Default: ports.PolicyAllow, ResultBytes: 4096})
	b.Add(Source{Name: "bad"}).Register(ports.Catalog{Tools: []ports.ToolPort{still{Name: "x", InputSchema: doubling(12)}}})
	r := b.View(Filter{}, nil).Check(t.Context(), ports.Call{Name: "bad__x", Arguments: json.RawMessage(`{"n":1}`)})
	if len(r.Why) > 8192 {
		t.Errorf("a schema of %d bytes makes the model read %d bytes of faults", len(doubling(12)), len(r.Why))
	}
}

func TestAHostileSchemaCannotFillTheMemory(t *testing.T) {
	b := newBox(Config{Default: ports.PolicyAllow})
	b.Add(Source{Name: "bad"}).Register(ports.Catalog{Tools: []ports.ToolPort{still{Name: "x", InputSchema: doubling(15)}}})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.View(Filter{}, nil).Check(t.Context(), ports.Call{Name: "bad__x", Arguments: json.RawMessage(`{"n":1}`)})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("a schema of %d bytes takes %d MiB to check one argument, and each 60 bytes more double that", len(doubling(15)), n>>20)
	}
}

// The time to compile a schema grows with the cube of its depth.
func TestADeepSchemaCostsTheCheckAndNotTheToolbox(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 3000) + `{}` + strings.Repeat(`}}`, 3000)
	for name, schema := range map[string]string{"deep": deep, "deep where nobody looks": `{"type":"object","$defs":{"x":` + deep + `}}`} {
		b := newBox(Config{Default: ports.PolicyAllow})
		done := make(chan struct{})
		go func() {
			b.Add(Source{Name: "bad"}).Register(ports.Catalog{Tools: []ports.ToolPort{still{Name: "x", InputSchema: json.RawMessage(schema)}}})
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Fatalf("%s: %d bytes of a schema keep the toolbox busy for a minute and more", name, len(schema))
		}
		if r := b.View(Filter{}, nil).Check(t.Context(), ports.Call{Name: "bad__x", Arguments: json.RawMessage(`{"a":7}`)}); r.Why != "" {
			t.Errorf("%s: a call is refused: %s", name, r.Why)
		}
	}
}

// A schema that only refers to itself fits everything, and no validator gets to its end.
func TestACircularSchemaRefusesNoCall(t *testing.T) {
	for _, schema := range []string{`{"type":"object","$ref":"#"}`, `{"type":"object","anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`} {
		b := newBox(Config{Default: ports.PolicyAllow})
		b.Add(Source{Name: "odd"}).Register(ports.Catalog{Tools: []ports.ToolPort{still{Name: "x", InputSchema: json.RawMessage(schema)}}})
		if r := b.View(Filter{}, nil).Check(t.Context(), ports.Call{Name: "odd__x", Arguments: json.RawMessage(`{}`)}); r.Why != "" {
			t.Errorf("%s: a call is refused: %s", schema, r.Why)
		}
	}
}

func TestASourceThatTakesLongToRegisterHoldsNobodyUp(t *testing.T) {
	var tools []ports.ToolPort
	for n := range 8 { // each takes a good part of a second
		var properties []string
		for i := range 4000 {
			properties = append(properties, fmt.Sprintf(`"p%d_%d":{"type":"string"}`, n, i))
		}
		tools = append(tools, still{Name: fmt.Sprint("x", n), InputSchema: json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)})
	}
	var all, longest time.Duration
	for range 3 { // a machine may hold up whoever looks, but not each time
		if all, longest = registers(tools); longest <= all/2 {
			return
		}
	}
	t.Errorf("registering took %s, and others waited up to %s of it", all, longest)
}

// registers tells how long a source takes to register its tools, and how long
// somebody else waits meanwhile at most.
func registers(tools []ports.ToolPort) (all, longest time.Duration) {
	b := newBox(Config{Default: ports.PolicyAllow})
	done := make(chan time.Duration, 1)
	go func() {
		began := time.Now()
		b.Add(Source{Name: "bad"}).Register(ports.Catalog{Tools: tools})
		done <- time.Since(began)
	}()
	for {
		began := time.Now()
		b.Servers()
		longest = max(longest, time.Since(began))
		select {
		case all = <-done:
			return all, longest
		default:
			runtime.Gosched()
		}
	}
}

// broken is a tool whose spec cannot be had.
type broken struct{ still }

func (broken) Spec() ports.ToolSpec { panic("boom") }

func TestASourceThatPanicsAtRegisteringHarmsNoOther(t *testing.T) {
	b := newBox(Config{Default: ports.PolicyAllow})
	b.Add(Source{Name: "good"}).Register(named("x"))
	register := func(source string, c ports.Catalog) {
		defer func() { _ = recover() }() // as the gateway does around a source's Run
		b.Add(Source{Name: source}).Register(c)
	}
	register("bad", ports.Catalog{Tools: []ports.ToolPort{broken{}}})
	register("other", named("y"))
	if got := strings.Join(names(b.Tools()), " "); got != "good__x other__y" {
		t.Errorf("the tools are %q", got)
	}
}
