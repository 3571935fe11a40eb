package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/ports"
)

// shelf is a chat whose messages come with files.
type shelf struct {
	*chat
	mu    sync.Mutex
	files map[string][]byte
	fails map[string]int // how often each cannot be had yet; < 0 = never
	opens []string
	slow  time.Duration
}

func (s *shelf) Open(ctx context.Context, a ports.Attachment) (io.ReadCloser, error) {
	idle(ctx, s.slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens = append(s.opens, a.ID)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if n := s.fails[a.ID]; n != 0 {
		s.fails[a.ID]--
		return nil, &ports.Error{Kind: ports.KindTemporary, Op: "open", Err: errors.New("secret-token")}
	}
	return io.NopCloser(bytes.NewReader(s.files[a.ID])), nil
}

// sends has ann send files with a text.
func (s *shelf) sends(t *testing.T, text string, ids ...string) {
	t.Helper()
	m := ports.Message{From: "ann", Name: "ann", Private: true, In: ports.Conversation{Chat: "ann"}, Text: text}
	for _, id := range ids {
		kind := map[bool]string{true: "image/png", false: "text/plain"}[strings.HasPrefix(id, "p")]
		m.Attachments = append(m.Attachments, ports.Attachment{ID: id, Name: id, MIME: kind, Size: int64(len(s.files[id]))})
	}
	s.receive(t, m)
}

// picture is a picture that is like no other.
func picture(n int) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 10+n, 10))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// newShelf is a world whose people send files to a model that sees.
func newShelf(t *testing.T, sees bool) (*world, *shelf) {
	w := newWorld(t)
	s := &shelf{chat: w.chat, files: map[string][]byte{"notes": []byte("buy milk")}, fails: map[string]int{}}
	for i := range 20 {
		s.files[fmt.Sprint("p", i)] = picture(i)
	}
	s.files["pliar"] = []byte("no picture at all")
	w.plug = s
	w.model.reply = echo
	w.agent = func(a *agent.Config) { a.Models[0].Facts.Images = sees }
	return w, s
}

// seen are the pictures of a request by their names, and what is said.
func seen(r ports.ModelRequest) (names []string, text string) {
	for _, e := range r.Entries {
		text += e.Text + "\n"
		for _, b := range e.Blocks {
			names = append(names, b.Name)
			if len(b.Data) == 0 || b.MIME != "image/png" {
				names = append(names, "without data")
			}
		}
	}
	return names, text
}

// lastAsked is what the model was asked last.
func (w *world) lastAsked() ([]string, string) {
	asked := w.model.asked()
	return seen(asked[len(asked)-1])
}

func TestAModelThatSeesIsShownThePictureOfAMessage(t *testing.T) {
	w, s := newShelf(t, true)
	w.start()
	s.sends(t, "what is it?", "p1", "notes")
	w.shown(1)
	names, text := w.lastAsked()
	if !slices.Equal(names, []string{"p1"}) {
		t.Errorf("the model was shown %q", names)
	}
	for _, want := range []string{"what is it?", "p1, image/png, ", `artifact "m1-0-`, "notes, text/plain, 8 bytes", `artifact "m1-1-`, "read_artifact"} {
		if !strings.Contains(text, want) {
			t.Errorf("the model was told %q, which lacks %q", text, want)
		}
	}
	in := ports.Conversation{Channel: "chat", Chat: "ann"}
	_, id, _ := strings.Cut(text, `kept as artifact "m1-1`)
	id, _, _ = strings.Cut("m1-1"+id, `"`)
	if a, err := w.store.Read(t.Context(), in, id, 0, 100); err != nil || string(a.Data) != "buy milk" {
		t.Errorf("the artifact %q is %q (%v)", id, a.Data, err)
	}
	w.settled()
	w.end()
	for _, rec := range w.recordings() {
		replayed(t, rec, 0)
	}
}

func TestAModelThatDoesNotSeeIsToldOfThePicture(t *testing.T) {
	w, s := newShelf(t, false)
	w.start()
	s.sends(t, "what is it?", "p1")
	w.shown(1)
	if names, text := w.lastAsked(); len(names) > 0 || !strings.Contains(text, "you cannot see or hear it") {
		t.Errorf("the model was shown %q and told %q", names, text)
	}
}

func TestWhatIsNoPictureIsNotShownAsOne(t *testing.T) {
	w, s := newShelf(t, true)
	w.start()
	s.sends(t, "what is it?", "pliar")
	w.shown(1)
	if names, text := w.lastAsked(); len(names) > 0 || !strings.Contains(text, "pliar, text/plain") {
		t.Errorf("the model was shown %q and told %q", names, text)
	}
}

func TestAFileThatCannotBeHadFailsNoTurn(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		fails int
		size  int
		want  string
		opens int
	}{
		"never":          {-1, 100, "could not be fetched", 3},
		"at first":       {2, 100, "kept as artifact", 3},
		"it is too long": {0, 20<<20 + 1, "larger than the 20 MB", 1},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := newShelf(t, true)
				w.start()
				s.fails["doc"], s.files["doc"] = c.fails, make([]byte, c.size)
				s.receive(t, ports.Message{From: "ann", Private: true, In: ports.Conversation{Chat: "ann"}, Text: "read it",
					Attachments: []ports.Attachment{{ID: "doc", Name: "doc"}}}) // the platform does not know its size
				w.within(time.Minute, "ann", "")
				if _, text := w.lastAsked(); !strings.Contains(text, c.want) || strings.Contains(text, "secret") {
					t.Errorf("the model was told %q, want %q", text, c.want)
				}
				if len(s.opens) != c.opens {
					t.Errorf("it was opened %d times", len(s.opens))
				}
				w.comesToRest()
				w.end()
			})
		})
	}
}

func TestOnlyTheLastFewPicturesAreSentAgain(t *testing.T) {
	w, s := newShelf(t, true)
	w.start()
	var shown []int
	for i := range 12 {
		s.sends(t, fmt.Sprint("picture ", i), fmt.Sprint("p", i))
		w.shown(i + 1)
		names, _ := w.lastAsked()
		if names[len(names)-1] != fmt.Sprint("p", i) {
			t.Errorf("of message %d the model was shown %q", i, names)
		}
		shown = append(shown, len(names))
	}
	if want := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 6, 7}; !slices.Equal(shown, want) {
		t.Errorf("the model was shown %v pictures, want %v", shown, want)
	}
	if _, text := w.lastAsked(); strings.Count(text, "it was shown before and is left out here") != 5 {
		t.Errorf("the model was told %q", text)
	}
	before := w.model.asked()
	w.restart() // what is told does not come from memory
	s.sends(t, "and now?")
	w.shown(13)
	after := w.model.asked()
	was, now := before[len(before)-1].Entries, after[len(after)-1].Entries
	for i, e := range was {
		if e.Text != now[i].Text || len(e.Blocks) != len(now[i].Blocks) {
			t.Errorf("after a restart entry %d is\n%+v, was\n%+v", i, now[i], e)
		}
	}
}

func TestAStopIsHeardWhileAFileIsFetched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, s := newShelf(t, true)
		s.slow = 50 * time.Second
		w.start()
		s.sends(t, "what is it?", "p1")
		<-time.After(3 * time.Second)
		began := time.Now()
		w.chat.say(t, "ann", "/stop")
		w.within(5*time.Second, "ann", "Stopped.")
		if took := time.Since(began); took > time.Second {
			t.Errorf("the stop took %s", took)
		}
		w.comesToRest()
		w.end()
		if n := len(w.model.asked()); n != 0 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

// What a person deletes takes its files along: by their id nobody reads them any more,
// and no prompt tells of them.
func TestAFileGoesWithItsMessage(t *testing.T) {
	w, s := newShelf(t, true)
	w.start()
	s.sends(t, "what is it?", "p1", "notes")
	w.shown(1)
	w.settled()
	_, text := w.lastAsked()
	in := ports.Conversation{Channel: "chat", Chat: "ann"}
	var ids []string
	for _, m := range regexp.MustCompile(`kept as artifact "([^"]+)"`).FindAllStringSubmatch(text, -1) {
		ids = append(ids, m[1])
		if _, err := w.store.Read(t.Context(), in, m[1], 0, 100); err != nil {
			t.Errorf("before: %v", err)
		}
	}
	s.deletes(t, "ann", "in-1")
	for i := range 2 {
		s.sends(t, "and now?")
		w.shown(i + 2)
		w.settled()
		if names, text := w.lastAsked(); len(names) > 0 || strings.Contains(text, "artifact") {
			t.Errorf("the model was shown %q and told %q", names, text)
		}
		for _, id := range ids {
			if _, err := w.store.Read(t.Context(), in, id, 0, 100); !ports.IsKind(err, ports.KindNotFound) {
				t.Errorf("the artifact %s: %v", id, err)
			}
		}
		w.restart()
	}
	if len(ids) != 2 {
		t.Errorf("there were the artifacts %q", ids)
	}
}
