package telegram

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

var us = incoming{me: account{ID: 42, Username: "Us_Bot"}}

// ann is the beginning of every message of a person.
const ann = `"message_id":5,"date":1700000000,"from":{"id":7,"first_name":"Ann","last_name":"Lee"}`

const private = ann + `,"chat":{"id":7,"type":"private"}`

const inGroup = ann + `,"chat":{"id":-100,"type":"supergroup"}`

func readUpdate(t *testing.T, body string) (ports.Message, string, bool) {
	t.Helper()
	var u update
	if err := json.Unmarshal([]byte(body), &u); err != nil {
		t.Fatal(err)
	}
	return us.read(u)
}

func TestMessage(t *testing.T) {
	got, why, ok := readUpdate(t, `{"update_id":9,"message":{`+private+`,"text":"/stop@us_BOT now","reply_to_message":{"message_id":4,"chat":{"id":7}}}}`)
	want := ports.Message{
		Event: "u9", ID: "7/5", In: ports.Conversation{Chat: "7"}, Private: true, From: "7", Name: "Ann Lee",
		Text: "/stop now", ReplyTo: "7/4", At: time.Unix(1700000000, 0).UTC(),
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (%s), want %+v", got, why, want)
	}
}

func TestAddressed(t *testing.T) {
	for name, test := range map[string]struct {
		message string
		want    bool
	}{
		"plain":                {`"text":"hello"`, false},
		"mention":              {`"text":"😀 @us_bot hi","entities":[{"type":"mention","offset":3,"length":7}]`, true},
		"mention of another":   {`"text":"@us_bot_2 hi","entities":[{"type":"mention","offset":0,"length":9}]`, false},
		"mention out of range": {`"text":"@us_bot","entities":[{"type":"mention","offset":3,"length":70},{"type":"mention","offset":-1,"length":2}]`, false},
		"mention by id":        {`"text":"you there","entities":[{"type":"text_mention","offset":0,"length":3,"user":{"id":42}}]`, true},
		"name without entity":  {`"text":"mail me@us_bot"`, false},
		"command":              {`"text":"/help","entities":[{"type":"bot_command","offset":0,"length":5}]`, true},
		"our command":          {`"text":"/help@Us_Bot","entities":[{"type":"bot_command","offset":0,"length":12}]`, true},
		"another's command":    {`"text":"/help@them","entities":[{"type":"bot_command","offset":0,"length":10}]`, false},
		"command in passing":   {`"text":"try /help","entities":[{"type":"bot_command","offset":4,"length":5}]`, false},
		"reply to us":          {`"text":"yes","reply_to_message":{"message_id":3,"from":{"id":42},"chat":{"id":-100}}`, true},
		"reply to another":     {`"text":"yes","reply_to_message":{"message_id":3,"from":{"id":8},"chat":{"id":-100}}`, false},
		"in our topic":         {`"text":"hi","is_topic_message":true,"message_thread_id":3,"reply_to_message":{"message_id":3,"from":{"id":42},"chat":{"id":-100}}`, false},
		"caption":              {`"caption":"@us_bot look","caption_entities":[{"type":"mention","offset":0,"length":7}],"photo":[{"file_id":"p"}]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, why, ok := readUpdate(t, `{"update_id":1,"message":{`+inGroup+`,`+test.message+`}}`)
			if !ok || got.Addressed != test.want || got.Private {
				t.Errorf("Addressed %v, Private %v, ok %v (%s)", got.Addressed, got.Private, ok, why)
			}
		})
	}
}

func TestThread(t *testing.T) {
	topic, _, _ := readUpdate(t, `{"update_id":1,"message":{`+inGroup+`,"text":"hi","is_topic_message":true,"message_thread_id":3,
		"reply_to_message":{"message_id":3,"chat":{"id":-100}}}}`)
	if topic.In != (ports.Conversation{Chat: "-100", Thread: "3"}) || topic.ReplyTo != "" {
		t.Errorf("in a topic: In %v, ReplyTo %q", topic.In, topic.ReplyTo)
	}
	mine, _, _ := readUpdate(t, `{"update_id":1,"message":{`+private+`,"text":"hi","is_topic_message":true,"message_thread_id":8}}`)
	if mine.In != (ports.Conversation{Chat: "7", Thread: "8"}) || !mine.Private {
		t.Errorf("in a topic of a private chat: In %v, Private %v", mine.In, mine.Private)
	}
	for kind, want := range map[string]string{`"supergroup","is_forum":true`: "1", `"supergroup"`: "", `"private","is_forum":true`: ""} {
		general, _, _ := readUpdate(t, `{"update_id":1,"message":{`+ann+`,"text":"hi","chat":{"id":-100,"type":`+kind+`},"message_thread_id":8}}`)
		if general.In.Thread != want {
			t.Errorf("beside the topics of a chat of type %s the thread is %q, want %q", kind, general.In.Thread, want)
		}
	}
	replies, _, _ := readUpdate(t, `{"update_id":1,"message":{`+inGroup+`,"text":"hi","message_thread_id":3}}`)
	if replies.In.Thread != "" {
		t.Errorf("a chain of replies is the thread %q", replies.In.Thread)
	}
}

func TestAReplyBringsWhatItQuotes(t *testing.T) {
	const before = `"text":"and this?","reply_to_message":{"message_id":3,"chat":{"id":-100},`
	for name, test := range map[string]struct {
		message string
		want    *ports.Quote
	}{
		"of us":       {before + `"from":{"id":42,"is_bot":true,"first_name":"Us"},"text":"It is 4."}`, &ports.Quote{Text: "It is 4.", Name: "Us", Own: true}},
		"of another":  {before + `"from":{"id":8,"first_name":"Bob"},"text":"five"}`, &ports.Quote{Text: "five", Name: "Bob"}},
		"of a part":   {before + `"from":{"id":8,"first_name":"Bob"},"text":"five or six"},"quote":{"text":"six","position":8}`, &ports.Quote{Text: "six", Name: "Bob"}},
		"of a photo":  {before + `"photo":[{"file_id":"p"}],"caption":"my cat"}`, &ports.Quote{Text: "my cat"}},
		"of a file":   {before + `"document":{"file_id":"d","file_name":"a.pdf","mime_type":"application/pdf"}}`, &ports.Quote{Text: "a.pdf application/pdf"}},
		"of nothing":  {before + `"pinned_message":{}}`, nil},
		"no reply":    {`"text":"hi"`, nil},
		"of a topic":  {`"text":"hi","is_topic_message":true,"message_thread_id":3,"reply_to_message":{"message_id":3,"chat":{"id":-100},"text":"x"}`, nil},
		"empty quote": {before + `"text":"five"},"quote":{}`, &ports.Quote{Text: "five"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, why, ok := readUpdate(t, `{"update_id":1,"message":{`+inGroup+`,`+test.message+`}}`)
			if !ok || !reflect.DeepEqual(got.Quote, test.want) {
				t.Errorf("the quote is %+v (%s), want %+v", got.Quote, why, test.want)
			}
		})
	}
}

func TestAnEditIsTheSameMessageWithAnotherText(t *testing.T) {
	first, _, _ := readUpdate(t, `{"update_id":1,"message":{`+private+`,"text":"fiv"}}`)
	got, why, ok := readUpdate(t, `{"update_id":2,"edited_message":{`+private+`,"edit_date":1700000009,"text":"five"}}`)
	if !ok || got.Change != ports.ChangeEdit || got.ID != first.ID || got.Event == first.Event || got.Text != "five" || !got.At.Equal(time.Unix(1700000009, 0)) {
		t.Errorf("the edit of %+v is %+v (%s)", first, got, why)
	}
	if first.Change != "" {
		t.Errorf("a new message has the change %q", first.Change)
	}
}

func TestTheButtonOfADraftIsAStop(t *testing.T) {
	got, why, ok := readUpdate(t, `{"update_id":4,"stopped_message_generation":{"chat":{"id":7,"type":"private","first_name":"Ann"},"draft_id":1,"message_thread_id":3}}`)
	want := ports.Message{Event: "u4", ID: "7/0", In: ports.Conversation{Chat: "7", Thread: "3"}, Private: true, From: "7", Name: "Ann", Text: "/stop"}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (%s), want %+v", got, why, want)
	}
}

func TestWhatIsPartedSaysThatMoreFollows(t *testing.T) {
	long := strings.Repeat("😀", 2000) // 4000 units
	for message, want := range map[string]bool{
		`"text":"hi"`:                                    false,
		`"text":"` + long + `"`:                          true,
		`"text":"` + long[4:] + `"`:                      false,
		`"photo":[{"file_id":"p"}],"media_group_id":"1"`: true,
		`"photo":[{"file_id":"p"}]`:                      false,
	} {
		if got, why, ok := readUpdate(t, `{"update_id":1,"message":{`+private+`,`+message+`}}`); !ok || got.More != want {
			t.Errorf("%.40s… has More %v (%s), want %v", message, got.More, why, want)
		}
	}
}

func TestAttachments(t *testing.T) {
	for name, test := range map[string]struct {
		message string
		text    string
		want    []ports.Attachment
	}{
		"photo": {`"photo":[{"file_id":"s","file_size":1},{"file_id":"l","file_size":9}]`, "",
			[]ports.Attachment{{ID: "l", MIME: "image/jpeg", Size: 9}}},
		"document": {`"caption":"see","document":{"file_id":"d","file_name":"a.pdf","mime_type":"application/pdf","file_size":3}`, "see",
			[]ports.Attachment{{ID: "d", Name: "a.pdf", MIME: "application/pdf", Size: 3}}},
		"animation": {`"animation":{"file_id":"a"},"document":{"file_id":"a"}`, "", []ports.Attachment{{ID: "a", MIME: "video/mp4"}}},
		"voice":     {`"voice":{"file_id":"v","mime_type":"audio/ogg"}`, "", []ports.Attachment{{ID: "v", MIME: "audio/ogg"}}},
		"sticker":   {`"sticker":{"file_id":"k"}`, "", []ports.Attachment{{ID: "k", MIME: "image/webp"}}},
		"location": {`"location":{"latitude":1,"longitude":2}`, "",
			[]ports.Attachment{{Name: "location", MIME: "application/vnd.telegram.location"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, why, ok := readUpdate(t, `{"update_id":1,"message":{`+private+`,`+test.message+`}}`)
			if !ok || got.Text != test.text || !reflect.DeepEqual(got.Attachments, test.want) {
				t.Errorf("text %q, attachments %+v, ok %v (%s)", got.Text, got.Attachments, ok, why)
			}
		})
	}
}

func TestSkipped(t *testing.T) {
	for name, body := range map[string]string{
		"service message":   `"message":{` + inGroup + `,"new_chat_title":"x"}`,
		"bot":               `"message":{"message_id":5,"date":1,"from":{"id":8,"is_bot":true},"chat":{"id":7},"text":"x"}`,
		"nobody":            `"message":{"message_id":5,"date":1,"chat":{"id":-7,"type":"channel"},"text":"x"}`,
		"anonymous admin":   `"message":{` + inGroup + `,"sender_chat":{"id":-100},"text":"x"}`,
		"linked channel":    `"message":{` + inGroup + `,"is_automatic_forward":true,"text":"x"}`,
		"migration":         `"message":{` + inGroup + `,"migrate_to_chat_id":-200}`,
		"unknown kind":      `"managed_bot":{"id":1}`,
		"stop in a group":   `"stopped_message_generation":{"chat":{"id":-100,"type":"supergroup"},"draft_id":1}`,
		"live location":     `"edited_message":{` + private + `,"location":{"latitude":1,"longitude":2,"live_period":600}}`,
		"edit of a bot":     `"edited_message":{"message_id":5,"date":1,"from":{"id":8,"is_bot":true},"chat":{"id":7},"text":"x"}`,
		"foreign button":    `"callback_query":{"id":"1","from":{"id":7},"message":{"message_id":5,"chat":{"id":7}},"data":"menu"}`,
		"button of nothing": `"callback_query":{"id":"1","from":{"id":7},"data":"q:f:v"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if m, why, ok := readUpdate(t, `{"update_id":1,`+body+`}`); ok || why == "" {
				t.Errorf("got %+v, why %q", m, why)
			}
		})
	}
}

func TestPress(t *testing.T) {
	got, why, ok := readUpdate(t, `{"update_id":3,"callback_query":{"id":"1","from":{"id":7,"first_name":"Ann"},"data":"q1:ok:yes",
		"message":{"message_id":5,"date":0,"chat":{"id":-100,"type":"supergroup"},"is_topic_message":true,"message_thread_id":3}}}`)
	want := ports.Message{
		Event: "u3", ID: "-100/5", In: ports.Conversation{Chat: "-100", Thread: "3"}, Addressed: true, From: "7", Name: "Ann",
		Choice: &ports.Choice{Question: "q1", Field: "ok", Value: "yes"},
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v (%s), want %+v", got, why, want)
	}
}

// FuzzUpdate looks for an update that the adapter chokes on, or a message that
// the core could not place.
func FuzzUpdate(f *testing.F) {
	f.Add(`{"update_id":9,"message":{` + private + `,"text":"/stop@us_bot"}}`)
	f.Add(`{"update_id":1,"message":{` + inGroup + `,"text":"😀 @us_bot","entities":[{"type":"mention","offset":3,"length":7}]}}`)
	f.Add(`{"update_id":3,"callback_query":{"id":"1","from":{"id":7},"data":"q:f:v","message":{"message_id":5,"chat":{"id":7}}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		var u update
		if json.Unmarshal([]byte(body), &u) != nil {
			return
		}
		m, why, ok := us.read(u)
		if ok && (m.Event == "" || m.ID == "" || m.In.Chat == "" || m.From == "") || !ok && why == "" {
			t.Errorf("%s became %+v, %q, %v", body, m, why, ok)
		}
	})
}

func TestOurNameAtTheStartIsNotPartOfWhatIsSaid(t *testing.T) {
	in := incoming{me: account{ID: 42, Username: "us_bot"}}
	for text, want := range map[string]string{
		"@us_bot call this":  "call this",
		"@US_bot, call this": "call this",
		"@us_bot /tools":     "/tools",
		"@us_bot":            "@us_bot",
		"@us_bot_2 hi":       "@us_bot_2 hi",
		"hi @us_bot":         "hi @us_bot",
		"/stop@us_bot now":   "/stop now",
	} {
		if got := in.ownCommand(in.unnamed(text)); got != want {
			t.Errorf("%q is taken for %q, want %q", text, got, want)
		}
	}
}
