package telegram

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// differences say where a JSON value is not of a type: what is missing, what
// nobody knows, what is of another type.
func (d declarations) differences(where string, v any, t typ) []string {
	wrong := func() []string { return []string{fmt.Sprintf("%s is %T %v", where, v, v)} }
	switch {
	case t.array != nil:
		list, ok := v.([]any)
		if !ok {
			return wrong()
		}
		var out []string
		for i, one := range list {
			out = append(out, d.differences(fmt.Sprintf("%s[%d]", where, i), one, *t.array)...)
		}
		return out
	case t.union != nil:
		return d.best(where, v, t.union)
	case t.name == "literal":
		if fmt.Sprint(v) != t.literal {
			return wrong()
		}
		return nil
	case t.name == "Array" || t.name == "ReadonlyArray":
		return d.differences(where, v, typ{array: &t.args[0]})
	case t.name == "NonNullable":
		return d.differences(where, v, t.args[0])
	case t.name == "Exclude" && d.shapes(t.args[0]) == nil, t.name == "any", t.name == "F":
		return nil
	}
	if kind, ok := map[string]string{"string": "string", "number": "float64", "boolean": "bool", "undefined": "never"}[t.name]; ok {
		if fmt.Sprintf("%T", v) != kind {
			return wrong()
		}
		return nil
	}
	if inner, ok := d.find(t); ok && t.both == nil && t.object == nil {
		return d.differences(where, v, inner)
	}
	object, ok := v.(map[string]any)
	shapes := d.shapes(t)
	if !ok || len(shapes) == 0 {
		return append(wrong(), "not an object of "+t.name)
	}
	var best []string
	for i, s := range shapes {
		if out := d.fields(where, object, s); i == 0 || len(out) < len(best) {
			best = out
		}
	}
	return best
}

// best are the differences to the type of a union that has the fewest.
func (d declarations) best(where string, v any, union []typ) []string {
	var best []string
	for i, one := range union {
		if out := d.differences(where, v, one); i == 0 || len(out) < len(best) {
			best = out
		}
	}
	return best
}

func (d declarations) fields(where string, v map[string]any, s shape) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		fields, known := s[name]
		if !known {
			out = append(out, where+"."+name+" is not known")
		}
		for _, f := range fields {
			out = append(out, d.differences(where+"."+name, v[name], f.of)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, there := v[name]; there {
			continue
		}
		must := func(f field) bool { return !f.optional && f.of.name != "undefined" }
		never := func(f field) bool { return f.of.name == "undefined" }
		if slices.ContainsFunc(s[name], must) && !slices.ContainsFunc(s[name], never) {
			out = append(out, where+"."+name+" is missing")
		}
	}
	return out
}

// method is what the types say of one of the Bot API: the names of its parameters and its result.
func (d declarations) method(name string) (params []string, result typ, ok bool) {
	for _, f := range d["ApiMethods"].object {
		if f.name != name {
			continue
		}
		for _, p := range f.of.args[0].object {
			params = append(params, p.name)
		}
		return params, f.of.args[1], true
	}
	return nil, typ{}, false
}

func TestDifferencesAreFound(t *testing.T) {
	d := grammyTypes(t)
	const good = `{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":7,"type":"private","first_name":"Ann"},` +
		`"from":{"id":7,"is_bot":false,"first_name":"Ann"},"text":"x","entities":[{"type":"bold","offset":0,"length":1}]}}`
	for change, want := range map[string]string{
		``:                                    "",
		`"text":"x" -> "text":5`:              "message.text is float64",
		`"text":"x" -> "txt":"x"`:             "message.txt is not known",
		`"date":1, -> `:                       "message.date is missing",
		`"type":"private" -> "type":"secret"`: "message.chat.type",
		`,"first_name":"Ann"}, -> },`:         "message.chat.first_name is missing",
		`"type":"bold" -> "type":"big"`:       "message.entities[0].type",
		`"is_bot":false, -> `:                 "message.from.is_bot is missing",
		`"update_id":1,"message" -> "update_id":1,"massage"`: "massage is not known",
	} {
		from, to, _ := strings.Cut(change, " -> ")
		var v any
		if err := json.Unmarshal([]byte(strings.Replace(good, from, to, 1)), &v); err != nil {
			t.Fatal(change, err)
		}
		got := strings.Join(d.differences("", v, typ{name: "Update"}), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %q", change, got, want)
		}
	}
}

func TestKindsOfUpdatesAreThoseOfTheTypes(t *testing.T) {
	var want []string
	for _, f := range grammyTypes(t)["Update"].object {
		if f.name != "update_id" {
			want = append(want, f.name)
		}
	}
	if !slices.Equal(updateKinds, want) {
		t.Errorf("the fake knows %v, want %v", updateKinds, want)
	}
}

func TestReactionsAreThoseOfTheTypes(t *testing.T) {
	d := grammyTypes(t)
	for _, emoji := range reactionEmoji {
		if out := d.differences("reaction", map[string]any{"type": "emoji", "emoji": emoji}, typ{name: "ReactionTypeEmoji"}); out != nil {
			t.Error(out)
		}
	}
}

// TestParametersAreThoseOfTheTypes: a method of the fake has the parameters that
// the newest description of the Bot API gives it, but for those it calls deprecated.
func TestParametersAreThoseOfTheTypes(t *testing.T) {
	d := grammyTypes(t)
	for _, m := range methods {
		want, _, ok := d.method(m.name)
		if !ok {
			t.Errorf("%s is no method of the Bot API", m.name)
		}
		want = slices.DeleteFunc(want, func(name string) bool { return name == "reply_to_message_id" })
		got := slices.Sorted(slices.Values(m.params))
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", m.name, got, want)
		}
	}
}
