package telegram

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	hear := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, fmt.Sprintf(format, args...))
	}
	s := start(t, Options{PerChat: 3 * time.Second, Watch: Watch{
		Called:  func(method string) { hear("call %s", method) },
		Handed:  func(chat int64) { hear("handed %d", chat) },
		Shown:   func(chat int64, text string, edited bool) { hear("shown %d %s %t", chat, text, edited) },
		Limited: func(chat int64) { hear("limited %d", chat) },
	}})
	s.User(7, "Ann").Say("hello")
	s.Raw("poll", `{}`) // of no chat
	call := func(method string, args ...string) {
		t.Helper()
		if _, err := ask(t.Context(), s, method, args...); err != nil {
			t.Fatal(err)
		}
	}
	call("getUpdates")
	call("sendMessage", "chat_id", "7", "text", "hi")
	call("sendMessage", "chat_id", "7", "text", "again")
	call("sendMessage", "chat_id", "8", "text", "nobody")
	for deadline := time.Now().Add(time.Minute); s.Sent(7)[0].Edits == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the limit does not end")
		}
		call("editMessageText", "chat_id", "7", "message_id", "2", "text", "hello")
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"call getUpdates", "handed 7", "call sendMessage", "shown 7 hi false", "call sendMessage", "limited 7", "call sendMessage"}
	if len(heard) < len(want) || !slices.Equal(heard[:len(want)], want) || heard[len(heard)-1] != "shown 7 hello true" {
		t.Errorf("heard %q", heard)
	}
}
