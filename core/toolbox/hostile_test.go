package toolbox

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

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
