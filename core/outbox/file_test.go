package outbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// mover is a platform that takes files, and notes what of each letter it got.
type mover struct {
	*stage
	upload func(try int) error // nil = it works
	tries  int
	opens  int
}

func (m *mover) Upload(ctx context.Context, out ports.Outgoing, open func(context.Context) (io.ReadCloser, error)) (ports.MessageID, error) {
	m.tries++
	file, err := open(ctx)
	if err != nil {
		m.note("cannot open")
		return "", &ports.Error{Kind: ports.KindOf(err), Op: "upload", Err: err}
	}
	m.opens++
	data, err := io.ReadAll(file)
	if err != nil {
		m.note("cannot read on after %d bytes", len(data))
		return "", &ports.Error{Kind: ports.KindOf(err), Op: "upload", Err: err}
	}
	m.note("upload %s of %d bytes from %c to %c, %s", out.Content.File.Name, len(data), data[0], data[len(data)-1], out.Content.Text)
	if m.upload != nil {
		if err := m.upload(m.tries); err != nil {
			return "", err
		}
	}
	return "77", file.Close()
}

// posts puts a file and an answer behind it into the outbox, and waits a while.
func posts(s *stage) {
	file := &ports.File{Artifact: "f1", Name: "a.bin", Size: 600 << 10}
	s.mu.Lock()
	for i, c := range []ports.Content{{Text: "a.bin (600 kB)", File: file}, {Text: "behind"}} {
		s.rooms[s.lease.In] = append(s.rooms[s.lease.In], ports.Delivery{ID: fmt.Sprint("t/1/", i), Out: ports.Outgoing{In: s.lease.In, Content: c}})
	}
	s.mu.Unlock()
	s.box.Wake(s.lease)
	<-time.After(10 * time.Minute)
	synctest.Wait()
}

func newMover(t *testing.T) *mover {
	m := &mover{stage: newStage(t)}
	m.box.Add("chat", m, 2)
	return m
}

const whole = "upload a.bin of 614400 bytes from a to c, a.bin (600 kB)"

func TestAFileIsPostedWholeAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMover(t)
		posts(m.stage)
		m.want("0s "+whole, "0s stored t/1/0 as 77", "0s send behind", "0s stored t/1/1 as 55")
	})
}

func TestAChannelThatTakesNoFilesShowsWhatIsSaidOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		posts(s)
		s.want("0s send a.bin (600 kB)", "0s stored t/1/0 as 55", "0s send behind", "0s stored t/1/1 as 55")
	})
}

func TestAnUploadThatFailsInPassingIsMadeAgainFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMover(t)
		m.upload = func(try int) error {
			if try == 1 {
				return &ports.Error{Kind: ports.KindRateLimited, Op: "upload", RetryAfter: 7 * time.Second, Err: errors.New("slowly")}
			}
			return nil
		}
		posts(m.stage)
		m.want("0s "+whole, "7s "+whole, "7s stored t/1/0 as 77", "7s send behind", "7s stored t/1/1 as 55")
	})
}

func TestAFileThatThePlatformRefusesIsShownInWords(t *testing.T) {
	for what, kind := range map[string]ports.Kind{"is too large to": ports.KindTooLarge, "could not": ports.KindInvalid} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMover(t)
				m.upload = func(int) error { return &ports.Error{Kind: kind, Op: "upload", Err: errors.New("no")} }
				posts(m.stage)
				m.want("0s "+whole, "0s send `a.bin` (a file, 600 kB) "+what+" be posted here.", "0s stored t/1/0 as 55", "0s send behind", "0s stored t/1/1 as 55")
			})
		})
	}
}

func TestAFileThatIsGoneIsShownInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMover(t)
		m.read = func(ports.Artifact) error {
			return &ports.Error{Kind: ports.KindNotFound, Op: "read", Err: errors.New("gone")}
		}
		posts(m.stage)
		m.want("0s cannot open", "0s send `a.bin` (a file, 600 kB) could not be posted here.", "0s stored t/1/0 as 55", "0s send behind", "0s stored t/1/1 as 55")
	})
}

func TestAFileIsPostedOnceTheStoreCanReadItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMover(t)
		began := time.Now()
		m.read = func(a ports.Artifact) error {
			if len(a.Data) < filePage && time.Since(began) < time.Minute { // the last page
				return &ports.Error{Kind: ports.KindUnavailable, Op: "read", Err: errors.New("not now")}
			}
			return nil
		}
		posts(m.stage)
		synctest.Wait()
		if m.tries < 3 || m.last() == "" || len(m.rooms[m.lease.In]) > 0 {
			t.Errorf("after %d tries %q was the last, and %d deliveries are left", m.tries, m.last(), len(m.rooms[m.lease.In]))
		}
		if n := len(m.did); m.did[n-4][len(m.did[n-4])-len(whole):] != whole {
			t.Errorf("it did %q", m.did)
		}
	})
}

func TestWhatIsSaidOfAFileIsRenderedBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMover(t)
		file := &ports.File{Artifact: "f1"}
		parts := m.box.Render(m.lease.In, ports.Content{Text: "a.bin", File: file})
		if len(parts) != 1 || parts[0].File != file || parts[0].Text != "a.bin" {
			t.Errorf("the parts are %+v", parts)
		}
	})
}
