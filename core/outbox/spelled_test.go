package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// bouncer is a platform that takes no files in this chat, and messages of 100 bytes. It
// notes what was posted under which nonce.
type bouncer struct {
	*mover
	posted []string
	refuse map[int]error // by how many are posted
}

func newBouncer(t *testing.T) *bouncer {
	b := &bouncer{mover: newMover(t), refuse: map[int]error{}}
	b.traits.MaxText = 100
	b.upload = func(int) error {
		return &ports.Error{Kind: ports.KindForbidden, Op: "upload", Err: errors.New("no files here")}
	}
	b.box.Add("chat", b, 2)
	return b
}

func (b *bouncer) Send(_ context.Context, m ports.Outgoing) (ports.MessageID, error) {
	if err := b.refuse[len(b.posted)]; err != nil {
		delete(b.refuse, len(b.posted))
		return "", err
	}
	b.posted = append(b.posted, m.Nonce+" "+m.Content.Text)
	return "55", nil
}

// says has the outbox bring code of n lines, and an answer behind it.
func (b *bouncer) says(n int) {
	code := make([]string, n)
	for i := range code {
		code[i] = fmt.Sprintf("line %2d ```", i)
	}
	b.code = strings.Join(code, "\n") + "\n"
	file := &ports.File{Artifact: codeID + "1", Name: "answer-1.go", Size: int64(len(b.code))}
	b.mu.Lock()
	for i, c := range []ports.Content{{Text: "answer-1.go", File: file}, {Text: "behind"}} {
		id := fmt.Sprint("t/1/", i)
		b.rooms[b.lease.In] = append(b.rooms[b.lease.In], ports.Delivery{ID: id, Out: ports.Outgoing{In: b.lease.In, Nonce: id, Content: c}})
	}
	b.mu.Unlock()
	b.box.Wake(b.lease)
	<-time.After(10 * time.Minute)
	synctest.Wait()
}

func TestCodeThatThePlatformTakesNoFileOfIsPostedAsText(t *testing.T) {
	for name, passing := range map[string]bool{"at once": false, "with a refusal between": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBouncer(t)
				if passing {
					b.refuse[1] = &ports.Error{Kind: ports.KindRateLimited, Op: "send", RetryAfter: time.Minute, Err: errors.New("slowly")}
				}
				b.says(12)
				all := strings.Join(b.posted, "\n")
				for i := range 12 {
					if n := strings.Count(all, fmt.Sprintf("line %2d ```", i)); n != 1 {
						t.Errorf("line %d is posted %d times", i, n)
					}
				}
				if !strings.HasPrefix(all, "t/1/0/0 ````go\nline  0") || !strings.Contains(all, "\nt/1/0/1 ") || !strings.HasSuffix(all, "\nt/1/1 behind") {
					t.Errorf("it posted %q", b.posted)
				}
				if b.tries != 1 || len(b.rooms[b.lease.In]) > 0 || len(b.box.code) > 0 {
					t.Errorf("after %d uploads %d deliveries are left, and %v is remembered", b.tries, len(b.rooms[b.lease.In]), b.box.code)
				}
			})
		})
	}
}

func TestCodeWithoutAFileIsNoFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBouncer(t)
		b.says(1000)
		if n := len(b.posted); n != maxSpelled+1 || !strings.HasSuffix(b.posted[n-2], textCutShort) {
			t.Errorf("it posted %d messages, %q before the last", n, b.posted[max(0, n-2)])
		}
	})
}
