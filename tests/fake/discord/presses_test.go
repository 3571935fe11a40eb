package discord

import (
	"encoding/json"
	"slices"
	"testing"
	"time"
)

func TestAPersonChoosesInAMenu(t *testing.T) {
	s := start(t, Options{AnswerFor: time.Minute})
	ann, bob := s.User("ann"), s.User("bob")
	types := apiTypes(t)
	c := dial(t, s)
	c.enter(s, usual)
	for _, room := range []string{s.Guild("Team").Channel("general"), ann.DM()} {
		m := ask(t, s, "POST", "/channels/"+room+"/messages", `{"content":"Who, and when?","components":[
			{"type":1,"components":[{"type":5,"custom_id":"who","max_values":2}]},
			{"type":1,"components":[{"type":3,"custom_id":"when","options":[{"label":"Now","value":"now"},{"label":"Later","value":"later"}]}]}]}`)
		for menu, values := range map[string][]string{"who": {ann.ID(), bob.ID()}, "when": {"later"}} {
			in, err := ann.Select(room, m.ID, menu, values...)
			if err != nil {
				t.Fatal(err)
			}
			e := c.next()
			for e.Type != "INTERACTION_CREATE" {
				e = c.next()
			}
			raw := e.Data
			differ(t, types, menu, raw, "GatewayInteractionCreateDispatchData")
			var got struct {
				Data struct {
					ID       string `json:"custom_id"`
					Values   []string
					Resolved struct{ Users, Members map[string]any }
				}
			}
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatal(err)
			}
			if d := got.Data; d.ID != menu || !slices.Equal(d.Values, values) || menu == "who" && len(d.Resolved.Users) != 2 {
				t.Errorf("%s", raw)
			}
			if a := ask(t, s, "POST", "/interactions/"+in.ID()+"/"+in.Token()+"/callback", `{"type":7,"data":{"content":"Good"}}`); a.status != 204 {
				t.Errorf("%d %s", a.status, a.body)
			}
			ask(t, s, "PATCH", "/channels/"+room+"/messages/"+m.ID, `{"content":"And?"}`)
		}
		for _, wrong := range [][]string{{"when", "never"}, {"when"}, {"who", "1"}, {"who", ann.ID(), bob.ID(), ann.ID()}, {"what", "x"}} {
			if _, err := ann.Select(room, m.ID, wrong[0], wrong[1:]...); err == nil {
				t.Errorf("%q was taken", wrong)
			}
		}
	}
}
