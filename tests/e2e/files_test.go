package e2e

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// viewer is a model that says how many pictures it sees in what was said last, and
// remembers them.
type viewer struct {
	mu     sync.Mutex
	images []string
	said   []string
}

func (v *viewer) answer(q model.Request) model.Reply {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := q.Last()
	v.images, v.said = last.Images, append(v.said, last.Text)
	return model.Reply{Text: fmt.Sprintf("I see %d pictures", len(last.Images))}
}

// TestAnAlbumIsOneQuestionWithAllItsPictures, from Telegram to the model.
func TestAnAlbumIsOneQuestionWithAllItsPictures(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	v := new(viewer)
	m := model.New(model.Options{Answer: v.answer})
	t.Cleanup(m.Close)
	startGateway(t, `{"listen": "${LISTEN}", "models": {"main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "model": "gpt-4o", "api_key": "k"}},
		"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}}, "access": {"mode": "open", "rate": ""}}`)
	ann := tg.User(1, "Ann")

	photos := []*telegram.File{telegram.Photo(40, 30), telegram.Photo(50, 30), telegram.Photo(60, 30)}
	ann.Album(telegram.Post{Text: "what are these?"}, photos...)
	sent := answers(t, tg, ann, 1)
	if sent[0].Text != "I see 3 pictures" {
		t.Errorf("the answer is %q", sent[0].Text)
	}
	var want []string
	for _, f := range photos {
		want = append(want, "data:image/png;base64,"+base64.StdEncoding.EncodeToString(f.Data))
	}
	v.mu.Lock()
	if !slices.Equal(v.images, want) || len(v.said) != 1 || !strings.Contains(v.said[0], "what are these?") {
		t.Errorf("the model was asked %d times: %q, with %d pictures", len(v.said), v.said, len(v.images))
	}
	v.mu.Unlock()

	ann.Post(telegram.Post{File: telegram.Document("list.txt", "text/plain", []byte("milk"))})
	ann.Post(telegram.Post{File: telegram.Voice(2)})
	eventually(t, answerWithin, "both are told of", func() error { // in one turn, or in two
		v.mu.Lock()
		defer v.mu.Unlock()
		if n := strings.Count(strings.Join(v.said, "|"), "kept as artifact"); n < 5 {
			return fmt.Errorf("the model was told of %d files", n)
		}
		return nil
	})
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, part := range []string{"list.txt, text/plain, 4 bytes", "audio/ogg, 2004 bytes"} {
		if !strings.Contains(strings.Join(v.said, "|"), part) {
			t.Errorf("file %d: the model was told %q, want %q", i, v.said, part)
		}
	}
}
