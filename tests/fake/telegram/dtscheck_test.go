package telegram

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"dragoman/tests/fake/dts"
)

// grammyTypes are those of npm's @grammyjs/types, the newest description of the Bot API.
func grammyTypes(t *testing.T) dts.Types {
	t.Helper()
	types, err := dts.Read(installed(t, "@grammyjs", "types"))
	if err != nil {
		t.Fatal(err)
	}
	return types
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
		got := strings.Join(d.Differences("", v, "Update"), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %q", change, got, want)
		}
	}
}

func TestKindsOfUpdatesAreThoseOfTheTypes(t *testing.T) {
	var want []string
	for _, name := range grammyTypes(t).Fields("Update") {
		if name != "update_id" {
			want = append(want, name)
		}
	}
	if !slices.Equal(updateKinds, want) {
		t.Errorf("the fake knows %v, want %v", updateKinds, want)
	}
}

func TestReactionsAreThoseOfTheTypes(t *testing.T) {
	d := grammyTypes(t)
	for _, emoji := range reactionEmoji {
		if out := d.Differences("reaction", map[string]any{"type": "emoji", "emoji": emoji}, "ReactionTypeEmoji"); out != nil {
			t.Error(out)
		}
	}
}

// TestParametersAreThoseOfTheTypes: a method of the fake has the parameters that
// the newest description of the Bot API gives it, but for those it calls deprecated.
func TestParametersAreThoseOfTheTypes(t *testing.T) {
	d := grammyTypes(t)
	for _, m := range methods {
		want, _, ok := d.Method("ApiMethods", m.name)
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
