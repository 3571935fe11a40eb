package toolbox

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// hostileSchemas are small and cost without end, each in its own way, to be
// checked against the value beside it.
func hostileSchemas() map[string][2]string {
	chain := func(name, ref func(i int) string) string {
		var defs []string
		for i := range 40 {
			defs = append(defs, fmt.Sprintf(`"a%d":{%s"anyOf":[{"$ref":%q},{"$ref":%q}]}`, i, name(i), ref(i+1), ref(i+1)))
		}
		return `{"properties":{"n":{"$ref":"` + ref(0) + `"}},"$defs":{` + strings.Join(defs, ",") + fmt.Sprintf(`,"a40":{%s"type":"string"}}}`, name(40))
	}
	none := func(int) string { return "" }
	deep := strings.Repeat(`{"n":`, 40) + "1" + strings.Repeat("}", 40)
	many := `{"n":[` + strings.Repeat("1,", 40_000) + `1]}`
	return map[string][2]string{
		"by pointer":         {chain(none, func(i int) string { return fmt.Sprintf("#/$defs/a%d", i) }), `{"n":1}`},
		"by escaped pointer": {chain(none, func(i int) string { return fmt.Sprintf("#/%%24defs/a%d", i) }), `{"n":1}`},
		"by anchor":          {chain(func(i int) string { return fmt.Sprintf(`"$anchor":"x%d",`, i) }, func(i int) string { return fmt.Sprintf("#x%d", i) }), `{"n":1}`},
		"by id":              {chain(func(i int) string { return fmt.Sprintf(`"$id":"https://x.invalid/%d",`, i) }, func(i int) string { return fmt.Sprintf("https://x.invalid/%d", i) }), `{"n":1}`},
		"by full address":    {chain(none, func(i int) string { return fmt.Sprintf("%s#/$defs/a%d", schemaURL, i) }), `{"n":1}`},
		"with the value":     {`{"properties":{"n":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}},"type":"object"}`, deep},
		"by dynamic anchor": {`{"$dynamicAnchor":"meta","properties":{"n":{"allOf":[{"$ref":"https://json-schema.org/draft/2020-12/schema"},{"$ref":"#"},{"$ref":"#"}]}}}`,
			deep},
		"itself":     {`{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{"n":1}`},
		"many items": {`{"properties":{"n":{"items":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 500) + `{"type":"null"}]}}}}`, many},
		"great enum": {`{"properties":{"n":{"items":{"enum":[` + strings.Repeat(`"x",`, 9000) + `"y"]}}}}`, many},
		"many members noted": {`{"properties":{"n":{"unevaluatedItems":false,"allOf":[` + strings.Repeat(`{"minItems":1},`, 4000) + `{}]}}}`,
			many},
		"great number":     {`{"properties":{"n":{"minimum":1}}}`, `{"n":1e999999999}`},
		"many great ones":  {`{"properties":{"n":{"items":{"multipleOf":0.1}}}}`, `{"n":[` + strings.Repeat("1e99999,", 4000) + `1]}`},
		"great in schema":  {`{"properties":{"n":{"items":{"multipleOf":1e-99999}}}}`, `{"n":[` + strings.Repeat("1,", 4000) + `1]}`},
		"great and unique": {`{"properties":{"n":{"uniqueItems":true}}}`, `{"n":[` + strings.Repeat("1e999999999,", 30) + `1]}`},
	}
}

// Half a minute would be for ever: the cheapest of these would take hours.
func TestNoSchemaCostsMoreThanAMoment(t *testing.T) {
	for name, test := range hostileSchemas() {
		t.Run(name, func(t *testing.T) {
			done := make(chan string, 1)
			go func() {
				s := compile(json.RawMessage(test[0]))
				done <- s.checkStructured(json.RawMessage(test[1])) + s.checkArguments(json.RawMessage(test[1]))
			}()
			select {
			case faults := <-done:
				if len(faults) > 16<<10 {
					t.Errorf("the model would read %d bytes", len(faults))
				}
			case <-time.After(30 * time.Second):
				t.Fatal("it is not over after 30 s")
			}
		})
	}
}

// TestSchemasOfRealSizeAreChecked: what the bounds cut off is not what servers have.
func TestSchemasOfRealSizeAreChecked(t *testing.T) {
	row := `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["id"]}`
	table := compile(json.RawMessage(`{"type":"object","properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},"$defs":{"row":` + row + `}}`))
	rows := strings.Repeat(`{"id":1,"name":"n","tags":["a","b"]},`, 2000)
	if faults := table.checkStructured(json.RawMessage(`{"rows":[` + rows + `{"id":"x"}]}`)); !strings.Contains(faults, "/rows/2000/id") {
		t.Errorf("a bad row after 2000 good ones is told as %q", faults)
	}
	tree := compile(json.RawMessage(`{"$ref":"#/$defs/t","$defs":{"t":{"properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/t"}}},"required":["kids"]}}}`))
	deep := strings.Repeat(`{"kids":[`, 100) + `{}` + strings.Repeat(`]}`, 100)
	if faults := tree.checkStructured(json.RawMessage(deep)); !strings.Contains(faults, "kids") {
		t.Errorf("a leaf without kids below 100 levels is told as %q", faults)
	}
	anchored := compile(json.RawMessage(`{"$dynamicAnchor":"x","properties":{"a":{"$dynamicRef":"#x"},"b":{"type":"string"}}}`))
	if faults := anchored.checkStructured(json.RawMessage(`{"a":{"a":{"b":1}}}`)); !strings.Contains(faults, "/a/a/b") {
		t.Errorf("a fault behind a dynamic reference is told as %q", faults)
	}
}

// TestASchemaFetchesNothing: whatever a schema refers to, nobody is asked for it.
func TestASchemaFetchesNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan bool)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_ = c.Close()
		}
		asked <- err == nil
	}()
	at := "http://" + l.Addr().String() + "/s.json"
	for _, s := range []string{`{"$ref":"` + at + `"}`, `{"$schema":"` + at + `"}`, `{"$id":"` + at + `","properties":{"a":{"$ref":"other.json"}}}`,
		`{"$dynamicRef":"` + at + `#x"}`, `{"items":{"$ref":"` + at + `#/a"}}`} {
		if got := compile(json.RawMessage(s)); got.checkArguments(json.RawMessage(`{"a":1}`)) != "" {
			t.Errorf("%s does not take everything", s)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if <-asked {
		t.Error("the network was asked for a schema")
	}
}
