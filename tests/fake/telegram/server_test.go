package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s := New(o)
	t.Cleanup(s.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s
}

// got is an answer as a client sees it.
type got struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  parameters      `json:"parameters"`
	status      int
}

// ask calls a method with a form; it is an error if no answer comes.
func ask(ctx context.Context, s *Server, method string, form ...string) (got, error) {
	v := url.Values{}
	for i := 0; i < len(form); i += 2 {
		v.Set(form[i], form[i+1])
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/bot"+s.Token()+"/"+method, strings.NewReader(v.Encode()))
	if err != nil {
		return got{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return got{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return got{}, err
	}
	a := got{status: res.StatusCode}
	return a, json.Unmarshal(body, &a)
}

func call(t *testing.T, s *Server, method string, form ...string) got {
	t.Helper()
	a, err := ask(t.Context(), s, method, form...)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return a
}

func ids(t *testing.T, a got) []int64 {
	t.Helper()
	var us []struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(a.Result, &us); err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	var out []int64
	for _, u := range us {
		out = append(out, u.ID)
	}
	return out
}

func TestUpdatesAreForgottenByOffsetOnly(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	for i := range 3 {
		ann.Say(fmt.Sprint(i))
	}
	first := ids(t, call(t, s, "getUpdates"))
	if again := ids(t, call(t, s, "getUpdates")); len(first) != 3 || fmt.Sprint(again) != fmt.Sprint(first) {
		t.Fatalf("%v and then %v", first, again)
	}
	left := ids(t, call(t, s, "getUpdates", "offset", fmt.Sprint(first[1]), "limit", "1"))
	if fmt.Sprint(left) != fmt.Sprint(first[1:2]) || s.Pending() != 2 {
		t.Errorf("from the second on: %v, %d pending", left, s.Pending())
	}
	call(t, s, "getUpdates", "offset", fmt.Sprint(first[2]+1))
	if s.Pending() != 0 || s.Offset() != first[2]+1 {
		t.Errorf("%d pending, offset %d", s.Pending(), s.Offset())
	}
}

func TestIdsOfUpdatesMayFall(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("one")
	high := ids(t, call(t, s, "getUpdates"))[0]
	call(t, s, "getUpdates", "offset", fmt.Sprint(high+1))
	s.Renumber(1000)
	s.User(7, "Ann").Say("two")
	if got := ids(t, call(t, s, "getUpdates")); len(got) != 1 || got[0] != 1000 {
		t.Errorf("without an offset: %v", got)
	}
	if got := ids(t, call(t, s, "getUpdates", "offset", fmt.Sprint(high+1))); len(got) != 0 {
		t.Errorf("an old offset still shows %v", got)
	}
}

func TestLongPoll(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	answer := make(chan got, 1)
	go func() {
		a, err := ask(context.WithoutCancel(t.Context()), s, "getUpdates", "timeout", "30")
		if err != nil {
			t.Error(err)
		}
		answer <- a
	}()
	waitOpen(t, s, "getUpdates", 1)
	ann.Say("hello")
	select {
	case a := <-answer:
		if len(ids(t, a)) != 1 {
			t.Errorf("got %s", a.Result)
		}
	case <-time.After(20 * time.Second):
		t.Error("a long poll is not woken by an update")
	}
}

// waitOpen waits until n calls of a method are in progress.
func waitOpen(t *testing.T, s *Server, method string, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); s.Open(method) != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d calls of %s are open, want %d", s.Open(method), method, n)
		}
	}
}

func TestSecondPollerEndsTheFirst(t *testing.T) {
	s := start(t, Options{})
	older := make(chan got, 1)
	go func() {
		a, err := ask(context.WithoutCancel(t.Context()), s, "getUpdates", "timeout", "30")
		if err != nil {
			t.Error(err)
		}
		older <- a
	}()
	waitOpen(t, s, "getUpdates", 1)
	if a := call(t, s, "getUpdates"); !a.OK {
		t.Errorf("the newer poller got %+v", a)
	}
	select {
	case a := <-older:
		if a.Code != http.StatusConflict || a.status != http.StatusConflict {
			t.Errorf("the older poller got %+v", a)
		}
	case <-time.After(20 * time.Second):
		t.Error("the older poller still waits")
	}
}

func TestWebhookExcludesPolling(t *testing.T) {
	s := start(t, Options{})
	call(t, s, "setWebhook", "url", "https://example.org/")
	if a := call(t, s, "getUpdates"); a.Code != http.StatusConflict || !strings.Contains(a.Description, "webhook") {
		t.Errorf("got %+v", a)
	}
	if a := call(t, s, "getWebhookInfo"); !strings.Contains(string(a.Result), "example.org") {
		t.Errorf("getWebhookInfo says %s", a.Result)
	}
	call(t, s, "deleteWebhook")
	if a := call(t, s, "getUpdates"); !a.OK {
		t.Errorf("after deleteWebhook: %+v", a)
	}
}

func TestAllowedUpdates(t *testing.T) {
	s := start(t, Options{})
	call(t, s, "getUpdates", "allowed_updates", `["callback_query"]`)
	s.User(7, "Ann").Say("hello")
	if n := s.Pending(); n != 0 {
		t.Errorf("%d updates of a kind that was not asked for", n)
	}
	call(t, s, "getUpdates", "allowed_updates", `["message"]`)
	s.User(7, "Ann").Say("hello")
	if n := s.Pending(); n != 1 {
		t.Errorf("%d updates, want 1", n)
	}
}

func TestRefusals(t *testing.T) {
	s := start(t, Options{})
	ann, bob := s.User(7, "Ann"), s.User(8, "Bob")
	ann.Say("hello")
	bob.Say("hello")
	bob.Block()
	s.User(9, "Silent")
	data := func(n int) string {
		return `{"inline_keyboard":[[{"text":"x","callback_data":"` + strings.Repeat("d", n) + `"}]]}`
	}
	for name, test := range map[string]struct {
		method string
		form   []string
		code   int
		want   string
	}{
		"no chat id":        {"sendMessage", []string{"text", "x"}, 400, "chat_id is empty"},
		"unknown chat":      {"sendMessage", []string{"chat_id", "99", "text", "x"}, 400, "chat not found"},
		"blocked":           {"sendMessage", []string{"chat_id", "8", "text", "x"}, 403, "bot was blocked"},
		"never wrote":       {"sendMessage", []string{"chat_id", "9", "text", "x"}, 403, "can't initiate"},
		"empty":             {"sendMessage", []string{"chat_id", "7", "text", " \n"}, 400, "text is empty"},
		"too long":          {"sendMessage", []string{"chat_id", "7", "text", strings.Repeat("😀", 2049)}, 400, "too long"},
		"as long as it can": {"sendMessage", []string{"chat_id", "7", "text", strings.Repeat("😀", 2048) + " "}, 0, ""},
		"not UTF-8":         {"sendMessage", []string{"chat_id", "7", "text", "\xff"}, 400, "UTF-8"},
		"data too long":     {"sendMessage", []string{"chat_id", "7", "text", "x", "reply_markup", data(65)}, 400, "BUTTON_DATA_INVALID"},
		"no data":           {"sendMessage", []string{"chat_id", "7", "text", "x", "reply_markup", data(0)}, 400, "BUTTON_DATA_INVALID"},
		"longest data":      {"sendMessage", []string{"chat_id", "7", "text", "x", "reply_markup", data(64)}, 0, ""},
		"bad keyboard":      {"sendMessage", []string{"chat_id", "7", "text", "x", "reply_markup", "{"}, 400, "can't parse"},
		"unknown topic":     {"sendMessage", []string{"chat_id", "7", "text", "x", "message_thread_id", "5"}, 400, "thread not found"},
		"unknown reply": {"sendMessage", []string{"chat_id", "7", "text", "x", "reply_parameters", `{"message_id":99}`},
			400, "message to be replied not found"},
		"unknown reply field":   {"sendMessage", []string{"chat_id", "7", "text", "x", "reply_parameters", `{"messageid":1}`}, 400, "unknown field"},
		"unknown preview field": {"sendMessage", []string{"chat_id", "7", "text", "x", "link_preview_options", `{"disabled":true}`}, 400, "unknown field"},
		"unknown button field":  {"sendMessage", []string{"chat_id", "7", "text", "x", "reply_markup", `{"inline_keyboard":[[{"text":"x","data":"y"}]]}`}, 400, "unknown field"},
		"unknown style":         {"sendMessage", []string{"chat_id", "7", "text", "x", "reply_markup", `{"inline_keyboard":[[{"text":"x","callback_data":"y","style":"red"}]]}`}, 400, "unknown style"},
		"a good style":          {"sendMessage", []string{"chat_id", "7", "text", "x", "reply_markup", `{"inline_keyboard":[[{"text":"x","callback_data":"y","style":"danger"}]]}`}, 0, ""},
		"unknown updates":       {"getUpdates", []string{"allowed_updates", `["massage"]`}, 400, "no updates of the kind massage"},
		"typo":                  {"sendMessage", []string{"chat_id", "7", "txt", "x"}, 400, "no parameter txt"},
		"not there":             {"editMessageText", []string{"chat_id", "7", "message_id", "99", "text", "x"}, 400, "message to edit not found"},
		"not the bot's":         {"editMessageText", []string{"chat_id", "7", "message_id", "1", "text", "x"}, 400, "can't be edited"},
		"unknown method":        {"sendRocket", nil, 404, "method not found"},
		"unknown query":         {"answerCallbackQuery", []string{"callback_query_id", "1"}, 400, "query is too old"},
		"unknown action":        {"sendChatAction", []string{"chat_id", "7", "action", "dancing"}, 400, "wrong parameter action"},
		"bad command":           {"setMyCommands", []string{"commands", `[{"command":"Stop","description":"x"}]`}, 400, "BOT_COMMAND_INVALID"},
		"good command":          {"setMyCommands", []string{"commands", `[{"command":"stop","description":"x"}]`}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := call(t, s, test.method, test.form...)
			if a.Code != test.code || !strings.Contains(a.Description, test.want) || a.OK != (test.code == 0) {
				t.Errorf("got %+v", a)
			}
		})
	}
}

func TestWrongToken(t *testing.T) {
	s := start(t, Options{})
	for path, want := range map[string]int{"/bot1:x/getMe": 401, "/getMe": 404, "/bot/getMe": 404} {
		res, err := http.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
}

func TestEdits(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	keys := `{"inline_keyboard":[[{"text":"Yes","callback_data":"y"}]]}`
	call(t, s, "sendMessage", "chat_id", "7", "text", "one", "reply_markup", keys)
	same := call(t, s, "editMessageText", "chat_id", "7", "message_id", "2", "text", "one", "reply_markup", keys)
	if same.Code != 400 || !strings.Contains(same.Description, "message is not modified") {
		t.Errorf("the same again: %+v", same)
	}
	call(t, s, "editMessageText", "chat_id", "7", "message_id", "2", "text", "two", "reply_markup", keys)
	call(t, s, "editMessageReplyMarkup", "chat_id", "7", "message_id", "2")
	m := s.Sent(7)[0]
	if m.Text != "two" || len(m.Buttons()) != 0 || m.Edits != 2 {
		t.Errorf("the chat shows %+v", m)
	}
	s.Delete(7, 2)
	if len(s.Sent(7)) != 0 {
		t.Error("a deleted message is still shown")
	}
}

func TestQueriesAreAnsweredOnce(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	ann.Say("hello")
	call(t, s, "sendMessage", "chat_id", "7", "text", "?", "reply_markup", `{"inline_keyboard":[[{"text":"Yes","callback_data":"y"}]]}`)
	if err := ann.Press(2, "No"); err == nil {
		t.Error("a button that is not there was pressed")
	}
	if err := ann.Press(2, "Yes"); err != nil {
		t.Fatal(err)
	}
	var us []struct {
		Query struct{ ID, Data string } `json:"callback_query"`
	}
	if err := json.Unmarshal(call(t, s, "getUpdates").Result, &us); err != nil || len(us) != 2 || us[1].Query.Data != "y" {
		t.Fatalf("%+v, %v", us, err)
	}
	if a := call(t, s, "answerCallbackQuery", "callback_query_id", us[1].Query.ID); !a.OK {
		t.Errorf("got %+v", a)
	}
	if a := call(t, s, "answerCallbackQuery", "callback_query_id", us[1].Query.ID); a.OK {
		t.Error("a query was answered twice")
	}
	if done, all := s.Answered(); done != 1 || all != 1 {
		t.Errorf("%d of %d answered", done, all)
	}
}

func TestPrivacyMode(t *testing.T) {
	s := start(t, Options{Privacy: true})
	ann, team := s.User(7, "Ann"), s.Group(-100, "Team")
	ann.SayIn(team, "hello all")
	if n := s.Pending(); n != 0 {
		t.Errorf("the bot sees %d messages that are not for it", n)
	}
	ann.SayIn(team, "/help")
	ann.SayIn(team, "@"+s.Username()+" hello")
	call(t, s, "sendMessage", "chat_id", "-100", "text", "yes?")
	ann.ReplyIn(team, s.Sent(-100)[0].ID, "thanks")
	if n := s.Pending(); n != 3 {
		t.Errorf("the bot sees %d messages, want 3", n)
	}
}

func TestMigration(t *testing.T) {
	s := start(t, Options{})
	team := s.Group(-5, "Team")
	team.Migrate(-100)
	a := call(t, s, "sendMessage", "chat_id", "-5", "text", "x")
	if a.Code != 400 || a.Parameters.MigrateTo != -100 {
		t.Errorf("got %+v", a)
	}
	if a := call(t, s, "sendMessage", "chat_id", "-100", "text", "x"); !a.OK {
		t.Errorf("got %+v", a)
	}
}

func TestEntities(t *testing.T) {
	for text, want := range map[string]string{
		"/stop":             "[{bot_command 0 5}]",
		"😀 @some_bot hi":    "[{mention 3 9}]",
		"a/b me@home x@y":   "[]",
		"/a@some_bot\n/b x": "[{bot_command 0 11} {bot_command 12 2}]",
	} {
		if got := brief(entitiesOf(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestCloseEndsOpenCalls(t *testing.T) {
	s := New(Options{})
	defer http.DefaultClient.CloseIdleConnections()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = ask(context.WithoutCancel(t.Context()), s, "getUpdates", "timeout", "50")
	}()
	waitOpen(t, s, "getUpdates", 1)
	s.Close()
	s.Close()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Error("a long poll outlives the server")
	}
}
