package discord

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhoAsksIsChecked(t *testing.T) {
	s := start(t, Options{})
	req := func(agent, auth string) got {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL()+"/api/v9/users/@me", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", agent)
		r.Header.Set("Authorization", auth)
		return do(t, r)
	}
	good := "DiscordBot (x, 1)"
	if a := req(good, "Bot "+s.Token()); a.status != 200 || a.ID != BotID {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := req(good, s.Token()); a.status != 401 {
		t.Errorf("without Bot: %d", a.status)
	}
	if a := req("Go-http-client/1.1", "Bot "+s.Token()); !a.is(403, 40333) {
		t.Errorf("without a name: %d %s", a.status, a.body)
	}
	if a := ask(t, s, "GET", "/nothing", ""); a.status != 404 {
		t.Errorf("%d", a.status)
	}
	if n := s.Invalid(); n != 2 {
		t.Errorf("%d answers count against the bot", n)
	}
}

func TestAMessageIsHeldToItsLimits(t *testing.T) {
	s := start(t, Options{})
	path := "/channels/" + s.User("ann").DM() + "/messages"
	rows := func(n, each int) string {
		var list []string
		for r := range n {
			var row []string
			for b := range each {
				row = append(row, fmt.Sprintf(`{"type":2,"style":1,"label":"x","custom_id":"%d.%d"}`, r, b))
			}
			list = append(list, `{"type":1,"components":[`+strings.Join(row, ",")+`]}`)
		}
		return `{"components":[` + strings.Join(list, ",") + `]}`
	}
	button := func(b string) string {
		return `{"components":[{"type":1,"components":[{"type":2,"style":1,"label":"x",` + b + `}]}]}`
	}
	const first = "components.0.components.0."
	for _, c := range []struct{ name, body, field, code string }{
		{"a long text", `{"content":"` + strings.Repeat("x", 2001) + `"}`, "content", "BASE_TYPE_MAX_LENGTH"},
		{"a long text of emoji", `{"content":"` + strings.Repeat("😀", 1001) + `"}`, "content", "BASE_TYPE_MAX_LENGTH"},
		{"a field that is none", `{"content":"x","parse_mode":"HTML"}`, "parse_mode", "FAKE_UNKNOWN_FIELD"},
		{"a text that is a number", `{"content":5}`, "content", "MODEL_TYPE_CONVERT"},
		{"a long nonce", `{"content":"x","nonce":"` + strings.Repeat("n", 26) + `"}`, "nonce", "BASE_TYPE_MAX_LENGTH"},
		{"a flag that is not the bot's", `{"content":"x","flags":64}`, "flags", "BASE_TYPE_CHOICES"},
		{"an unknown reference", `{"content":"x","message_reference":{"message_id":"1"}}`, "message_reference", "REPLIES_UNKNOWN_MESSAGE"},
		{"six rows", rows(6, 1), "components", "BASE_TYPE_MAX_LENGTH"},
		{"six in a row", rows(1, 6), "components.0.components", "BASE_TYPE_BAD_LENGTH"},
		{"a button in no row", `{"components":[{"type":2,"style":1,"label":"x","custom_id":"a"}]}`, "components.0.type", "UNION_TYPE_CHOICES"},
		{"a long custom id", button(`"custom_id":"` + strings.Repeat("x", 101) + `"`), first + "custom_id", "BASE_TYPE_BAD_LENGTH"},
		{"an empty custom id", button(`"custom_id":""`), first + "custom_id", "BASE_TYPE_BAD_LENGTH"},
		{"no custom id", button(`"disabled":false`), first + "custom_id", "BASE_TYPE_REQUIRED"},
		{"a long label", button(`"custom_id":"a","label":"` + strings.Repeat("x", 81) + `"`), first + "label", "BASE_TYPE_MAX_LENGTH"},
		{"no label", button(`"custom_id":"a","label":""`), first + "label", "BUTTON_COMPONENT_LABEL_REQUIRED"},
		{"a style that is none", button(`"custom_id":"a","style":9`), first + "style", "BASE_TYPE_CHOICES"},
		{"a link without one", button(`"style":5`), first + "url", "BASE_TYPE_REQUIRED"},
		{"a custom id twice", `{"components":[{"type":1,"components":[{"type":2,"style":1,"label":"x","custom_id":"a"},{"type":2,"style":1,"label":"y","custom_id":"a"}]}]}`, "components.0.components.1.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED"},
		{"eleven embeds", `{"embeds":[` + strings.TrimSuffix(strings.Repeat(`{"title":"x"},`, 11), ",") + `]}`, "embeds", "BASE_TYPE_MAX_LENGTH"},
		{"a file that is not there", `{"content":"x","attachments":[{"id":0,"filename":"a"}]}`, "attachments.0", "ATTACHMENT_NOT_FOUND"},
		{"a list of mentions and its kind", `{"content":"x","allowed_mentions":{"parse":["users"],"users":["1"]}}`, "allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE"},
		{"a kind of mention that is none", `{"content":"x","allowed_mentions":{"parse":["all"]}}`, "allowed_mentions.parse.0", "BASE_TYPE_CHOICES"},
	} {
		if a := ask(t, s, "POST", path, c.body); !a.fault(c.field, c.code) {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
	}
	if a := ask(t, s, "POST", path, `{"content":" \n "}`); !a.is(400, 50006) {
		t.Errorf("nothing: %d %s", a.status, a.body)
	}
	if a := ask(t, s, "POST", path, `{"content":`); !a.is(400, 50109) {
		t.Errorf("no JSON: %d %s", a.status, a.body)
	}
	if a := send(t, s, "POST", path, "text/plain", []byte("x")); !a.is(400, 50035) {
		t.Errorf("no JSON by its type: %d %s", a.status, a.body)
	}
	for name, body := range map[string]string{"2000 units": `{"content":"` + strings.Repeat("x", 2000) + `"}`, "25 buttons": rows(5, 5)} {
		if a := ask(t, s, "POST", path, body); a.status != 200 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

func TestANonceIsUsedOnceWithinMinutes(t *testing.T) {
	s := start(t, Options{})
	dm := s.User("ann").DM()
	path := "/channels/" + dm + "/messages"
	post := func(body string) string {
		t.Helper()
		a := ask(t, s, "POST", path, body)
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return a.ID
	}
	const once = `{"content":"x","nonce":"7","enforce_nonce":true}`
	one := post(once)
	if again := post(once); again != one {
		t.Error("the same again made another message")
	}
	if as := post(`{"content":"y","nonce":7,"enforce_nonce":true}`); as != one {
		t.Error("a number is not the same as its text")
	}
	if other := post(`{"content":"x","nonce":"7"}`); other == one {
		t.Error("a nonce that is not enforced was")
	}
	s.Advance(nonceFor + time.Second)
	if later := post(once); later == one || len(s.Sent(dm)) != 3 {
		t.Errorf("after minutes: %s, %d messages", later, len(s.Sent(dm)))
	}
}

func TestTheHistoryIsReadInPages(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	path := "/channels/" + ann.DM() + "/messages"
	var all []string
	for i := range 120 {
		all = append(all, ann.Say(fmt.Sprint(i)))
	}
	page := func(query string) []string {
		t.Helper()
		var list []message
		ask(t, s, "GET", path+query, "").into(t, &list)
		var got []string
		for _, m := range list {
			got = append(got, m.ID)
		}
		slices.Reverse(got) // they come newest first
		return got
	}
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"", all[70:]},
		{"?limit=100", all[20:]},
		{"?limit=2&after=" + all[3], all[4:6]},
		{"?limit=100&after=" + all[117], all[118:]},
		{"?limit=3&after=0", all[:3]},
		{"?limit=2&before=" + all[3], all[1:3]},
		{"?limit=5&around=" + all[50], all[48:53]},
		{"?after=" + all[119], nil},
	} {
		if got := page(c.query); !slices.Equal(got, c.want) {
			t.Errorf("%s: %d from %v", c.query, len(got), got)
		}
	}
	ann.Delete(ann.DM(), all[119])
	if got := page("?limit=1"); !slices.Equal(got, all[118:119]) {
		t.Error("a deleted message is in the history")
	}
	for query, field := range map[string]string{"?limit=0": "limit", "?limit=101": "limit", "?after=x": "after"} {
		if a := ask(t, s, "GET", path+query, ""); !a.is(400, 50035) || !strings.Contains(string(a.body), field) {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

func TestOnlyWhatIsTheBotsAndThereIsChanged(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	dm := "/channels/" + ann.DM()
	hers := ann.Say("mine")
	room := s.Guild("Team").Channel("general")
	in := ann.SayIn(room, "mine too")
	own := ask(t, s, "POST", dm+"/messages", `{"content":"x","components":[{"type":1,"components":[{"type":2,"style":1,"label":"x","custom_id":"a"}]}]}`).ID
	for _, c := range []struct {
		method, path, body string
		status, code       int
	}{
		{"PATCH", dm + "/messages/" + hers, `{"content":"x"}`, 403, 50005},
		{"DELETE", dm + "/messages/" + hers, "", 403, 50003},
		{"DELETE", "/channels/" + room + "/messages/" + in, "", 403, 50013},
		{"PATCH", dm + "/messages/1", `{"content":"x"}`, 404, 10008},
		{"GET", dm + "/messages/" + in, "", 404, 10008},
		{"GET", "/channels/1/messages", "", 404, 10003},
		{"POST", "/users/@me/channels", `{"recipient_id":"1"}`, 404, 10013},
		{"POST", "/users/@me/channels", `{"recipient_id":"` + BotID + `"}`, 403, 50007},
		{"PATCH", dm + "/messages/" + own, `{"content":"","components":[]}`, 400, 50006},
		{"PATCH", dm + "/messages/" + own, `{"id":"1"}`, 400, 50035},
	} {
		if a := ask(t, s, c.method, c.path, c.body); !a.is(c.status, c.code) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, a.status, a.body)
		}
	}
	if a := ask(t, s, "PATCH", dm+"/messages/"+own, `{"components":[]}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if sent := s.Sent(ann.DM()); len(sent) != 1 || sent[0].Text != "x" || len(sent[0].Rows) != 0 || sent[0].Edits != 1 {
		t.Errorf("an edit changes what it names: %+v", sent)
	}
	if a := ask(t, s, "DELETE", dm+"/messages/"+own, ""); a.status != 204 || len(s.Sent(ann.DM())) != 0 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestPermissionsAreTheChannels(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	room := s.Guild("Team").Channel("general")
	said := ann.SayIn(room, "hello")
	path := "/channels/" + room
	for _, c := range []struct {
		denied             Permission
		method, path, body string
		status, code       int
	}{
		{ViewChannel, "GET", path, "", 403, 50001},
		{ViewChannel, "POST", path + "/messages", `{"content":"x"}`, 403, 50001},
		{SendMessages, "POST", path + "/messages", `{"content":"x"}`, 403, 50013},
		{SendMessages, "POST", path + "/typing", "", 403, 50013},
		{AddReactions, "PUT", path + "/messages/" + said + "/reactions/%F0%9F%91%80/@me", "", 403, 50013},
		{CreatePublicThreads, "POST", path + "/messages/" + said + "/threads", `{"name":"x"}`, 403, 50013},
		{ReadMessageHistory, "GET", path + "/messages/" + said, "", 403, 50013},
		{ReadMessageHistory, "POST", path + "/messages", `{"content":"x","message_reference":{"message_id":"` + said + `"}}`, 403, 160002},
	} {
		s.Deny(room, c.denied)
		if a := ask(t, s, c.method, c.path, c.body); !a.is(c.status, c.code) {
			t.Errorf("%d: %s %s: %d %s", c.denied, c.method, c.path, a.status, a.body)
		}
	}
	if a := ask(t, s, "GET", path+"/messages", ""); string(bytes.TrimSpace(a.body)) != "[]" {
		t.Errorf("a history that is not to be read: %s", a.body)
	}
	s.Deny(room, 0)
	if a := ask(t, s, "POST", path+"/messages", `{"content":"x"}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	ann.Block()
	if a := ask(t, s, "POST", "/channels/"+ann.DM()+"/messages", `{"content":"x"}`); !a.is(403, 50007) {
		t.Errorf("%d %s", a.status, a.body)
	}
	ann.Unblock()
	if a := ask(t, s, "POST", "/channels/"+ann.DM()+"/messages", `{"content":"x"}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestWhoIsPingedIsSeen(t *testing.T) {
	s := start(t, Options{})
	ann, bob := s.User("ann"), s.User("bob")
	room := s.Guild("Team").Channel("general")
	said := ann.SayIn(room, "hello")
	text := `"content":"@everyone ` + bob.Mention() + `","message_reference":{"message_id":"` + said + `"}`
	for _, c := range []struct {
		allowed string
		want    []string
	}{
		{``, []string{"bob", "ann", "@everyone"}},
		{`,"allowed_mentions":{"parse":[]}`, nil},
		{`,"allowed_mentions":{"parse":[],"replied_user":true}`, []string{"ann"}},
		{`,"allowed_mentions":{"parse":["users"]}`, []string{"bob"}},
		{`,"allowed_mentions":{"users":["` + bob.ID() + `"]}`, []string{"bob"}},
		{`,"allowed_mentions":{"parse":["everyone"]}`, []string{"@everyone"}},
	} {
		if a := ask(t, s, "POST", "/channels/"+room+"/messages", "{"+text+c.allowed+"}"); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		sent := s.Sent(room)
		if got := sent[len(sent)-1].Pinged; !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.allowed, got, c.want)
		}
	}
}

func TestReactionsAreOneOfAKindAndTwentyAtMost(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	said := ann.Say("hello")
	path := "/channels/" + ann.DM() + "/messages/" + said + "/reactions/"
	for range 2 {
		if a := ask(t, s, "PUT", path+"%F0%9F%91%80/@me", ""); a.status != 204 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	ann.React(ann.DM(), said, "👀")
	if by := s.Reacted(ann.DM(), said, "👀"); !slices.Equal(by, []string{"ann", DefaultUsername}) {
		t.Errorf("%v", by)
	}
	ask(t, s, "DELETE", path+"%F0%9F%91%80/@me", "")
	if by := s.Reacted(ann.DM(), said, "👀"); !slices.Equal(by, []string{"ann"}) {
		t.Errorf("%v", by)
	}
	if a := ask(t, s, "PUT", path+"eyes/@me", ""); !a.is(400, 10014) {
		t.Errorf("%d %s", a.status, a.body)
	}
	for i := range 19 {
		ask(t, s, "PUT", path+string(rune(0x1F600+i))+"/@me", "")
	}
	if a := ask(t, s, "PUT", path+"%F0%9F%91%8D/@me", ""); !a.is(403, 30010) {
		t.Errorf("%d %s", a.status, a.body)
	}
}
