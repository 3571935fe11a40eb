package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

var room = ports.Conversation{Channel: "chat", Chat: "ann"}

// desk is Files with a store in memory, and a platform that a test plays.
type desk struct {
	*Files
	t     *testing.T
	leaks guard.Leaks
	// open is the platform's; nil gives data.
	open func(context.Context, ports.Attachment) (io.ReadCloser, error)
	data []byte

	mu     sync.Mutex
	kept   map[string]ports.Artifact
	saves  error // what a save fails with
	opens  int
	closes int
	now    int // files that are open
	peak   int
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, kept: map[string]ports.Artifact{}, data: []byte("some text")}
	d.Files = New(d, map[string]ports.Opener{"chat": d}, &d.leaks)
	return d
}

func (d *desk) Save(_ context.Context, a ports.Artifact) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, had := d.kept[a.ID]; d.saves == nil && !had {
		d.kept[a.ID] = a
	}
	return d.saves
}

func (d *desk) Read(_ context.Context, in ports.Conversation, id string, offset, limit int64) (ports.Artifact, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok := d.kept[id]
	if !ok || a.In != in {
		return ports.Artifact{}, ports.Errorf(ports.KindNotFound, "read", "none")
	}
	a.Data = a.Data[offset:min(int64(len(a.Data)), offset+limit)]
	return a, nil
}

func (d *desk) Open(ctx context.Context, a ports.Attachment) (io.ReadCloser, error) {
	d.mu.Lock()
	d.opens, d.now = d.opens+1, d.now+1
	d.peak = max(d.peak, d.now)
	d.mu.Unlock()
	from := io.ReadCloser(io.NopCloser(bytes.NewReader(d.data)))
	if d.open != nil {
		var err error
		if from, err = d.open(ctx, a); err != nil {
			d.mu.Lock()
			d.now--
			d.mu.Unlock()
			return nil, err
		}
	}
	return &opened{from, d}, nil
}

// opened counts what is closed.
type opened struct {
	io.ReadCloser
	d *desk
}

func (o *opened) Close() error {
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	o.d.closes, o.d.now = o.d.closes+1, o.d.now-1
	return o.ReadCloser.Close()
}

// keep keeps a file of an unknown size under an id.
func (d *desk) keep(id string) (ports.File, ports.BlockKind, error) {
	return d.Keep(d.t.Context(), room, 7, id, ports.Attachment{ID: "file-" + id, Name: "notes.txt"})
}

func TestWhatIsKeptIsNotFetchedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		first, _, err := d.keep("a")
		if err != nil || first != (ports.File{Artifact: "a", Name: "notes.txt", MIME: "text/plain", Size: 9}) {
			t.Fatalf("it kept %+v (%v)", first, err)
		}
		d.data = []byte("other text")
		again, _, err := d.keep("a")
		if err != nil || again != first || d.opens != 1 || d.closes != 1 {
			t.Errorf("then it has %+v (%v); opened %d, closed %d times", again, err, d.opens, d.closes)
		}
		if data, err := d.Files.Read(t.Context(), room, "a"); err != nil || string(data) != "some text" {
			t.Errorf("what is kept reads %q (%v)", data, err)
		}
		other := room
		other.Chat = "bob"
		if _, err := d.Files.Read(t.Context(), other, "a"); !ports.IsKind(err, ports.KindNotFound) {
			t.Errorf("another conversation reads it: %v", err)
		}
	})
}

// counted tells how much of a file was read.
type counted struct {
	io.Reader
	n *int
}

func (c counted) Read(into []byte) (int, error) {
	n, err := c.Reader.Read(into)
	*c.n += n
	return n, err
}

// zeros never end.
type zeros struct{}

func (zeros) Read(into []byte) (int, error) { clear(into); return len(into), nil }

func TestNoFileIsLongerThanMost(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		said, has int64
		opens     int
		ok        bool
	}{
		"as long as may be":                 {Most, Most, 1, true},
		"one byte longer":                   {0, Most + 1, 1, false},
		"longer than it is said to be":      {10, Most + 1, 1, false},
		"said to be longer: it is not read": {Most + 1, 10, 0, false},
		"without an end":                    {0, 1 << 40, 1, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d, read := newDesk(t), 0
			d.open = func(context.Context, ports.Attachment) (io.ReadCloser, error) {
				return io.NopCloser(counted{io.LimitReader(zeros{}, c.has), &read}), nil
			}
			f, _, err := d.Keep(t.Context(), room, 7, "a", ports.Attachment{ID: "x", Size: c.said})
			if c.ok && (err != nil || f.Size != c.has) || !c.ok && !ports.IsKind(err, ports.KindTooLarge) {
				t.Errorf("it kept %+v (%v)", f, err)
			}
			if d.opens != c.opens || d.closes != c.opens || read > Most+1 || len(d.kept) > 0 != c.ok {
				t.Errorf("opened %d, closed %d times, %d bytes were read, %d files are kept", d.opens, d.closes, read, len(d.kept))
			}
		})
	}
}

func TestFewFilesAreFetchedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.open = func(ctx context.Context, _ ports.Attachment) (io.ReadCloser, error) {
			<-time.After(10 * time.Second)
			return io.NopCloser(bytes.NewReader(d.data)), ctx.Err()
		}
		began := time.Now()
		var all sync.WaitGroup
		for i := range 3 * atOnce {
			all.Go(func() {
				if _, _, err := d.keep(string(rune('a' + i))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() { // who leaves does not wait for a place
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			synctest.Wait()
			if _, _, err := d.Keep(ctx, room, 7, "z", ports.Attachment{ID: "z"}); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second {
				t.Errorf("who left was told %v after %s", err, time.Since(began))
			}
		})
		all.Wait()
		if took := time.Since(began); d.peak != atOnce || took != 30*time.Second {
			t.Errorf("%d were fetched at once, and all took %s", d.peak, took)
		}
	})
}

func TestAFetchIsTriedAgainWhereThatMayHelp(t *testing.T) {
	t.Parallel()
	fault := func(k ports.Kind, after time.Duration) error {
		return &ports.Error{Kind: k, Op: "open", RetryAfter: after, Err: errors.New("no")}
	}
	for what, c := range map[string]struct {
		err   error
		fails int
		opens int
		took  time.Duration
	}{
		"a fault that passes":        {fault(ports.KindTemporary, 0), 2, 3, 2 * time.Second},
		"a fault that stays":         {fault(ports.KindTemporary, 0), 9, 3, 2 * time.Second},
		"a wait that is asked for":   {fault(ports.KindRateLimited, 7*time.Second), 1, 2, 7 * time.Second},
		"the longest wait":           {fault(ports.KindRateLimited, longestWait), 1, 2, longestWait},
		"a wait that is too long":    {fault(ports.KindRateLimited, longestWait+1), 1, 1, 0},
		"a file that is gone":        {fault(ports.KindNotFound, 0), 1, 1, 0},
		"a file that may not be had": {fault(ports.KindForbidden, 0), 1, 1, 0},
		"a file that is too large":   {fault(ports.KindTooLarge, 0), 1, 1, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.open = func(context.Context, ports.Attachment) (io.ReadCloser, error) {
					if d.opens <= c.fails {
						return nil, c.err
					}
					return io.NopCloser(bytes.NewReader(d.data)), nil
				}
				began := time.Now()
				_, _, err := d.keep("a")
				if ok := c.opens > c.fails; ok != (err == nil) || !ok && !errors.Is(err, c.err) {
					t.Errorf("it ended with %v", err)
				}
				if took := time.Since(began); d.opens != c.opens || took != c.took {
					t.Errorf("it was opened %d times in %s", d.opens, took)
				}
			})
		})
	}
}

// broken gives some data and then an error that has no kind, as a connection does.
type broken struct {
	left int
	err  error
}

func (b *broken) Read(into []byte) (int, error) {
	if b.left == 0 {
		return 0, b.err
	}
	n := min(len(into), b.left)
	b.left -= n
	return n, nil
}

func TestAFileThatBreaksOffIsFetchedAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.open = func(context.Context, ports.Attachment) (io.ReadCloser, error) {
			if d.opens == 1 {
				return io.NopCloser(&broken{5, io.ErrUnexpectedEOF}), nil
			}
			return io.NopCloser(bytes.NewReader(d.data)), nil
		}
		f, _, err := d.keep("a")
		if err != nil || f.Size != 9 || d.opens != 2 || d.closes != 2 {
			t.Errorf("it kept %+v (%v); opened %d, closed %d times", f, err, d.opens, d.closes)
		}
	})
}

func TestNoFileIsWaitedForLongerThanAMinute(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		stubborn bool
		want     time.Duration
		left     int64
	}{
		"one that hangs":                     {false, fetchTimeout, 0},
		"one that hangs and does not let go": {true, fetchTimeout + guard.Grace, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, end := newDesk(t), make(chan struct{})
				d.open = func(ctx context.Context, _ ports.Attachment) (io.ReadCloser, error) {
					if d.opens < tries {
						<-time.After(25 * time.Second)
						return nil, ports.Errorf(ports.KindTemporary, "open", "slow, and broken")
					}
					if c.stubborn {
						<-end
					}
					<-ctx.Done()
					return nil, ctx.Err()
				}
				began := time.Now()
				_, _, err := d.keep("a")
				if took := time.Since(began); err == nil || took != c.want {
					t.Errorf("it ended after %s with %v", took, err)
				}
				if n := d.leaks.Counts()["open_attachment"].Open; n != c.left {
					t.Errorf("%d calls were left behind", n)
				}
				close(end)
				synctest.Wait()
			})
		})
	}
}

func TestAnAdapterThatPanicsCostsItsFileAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.open = func(context.Context, ports.Attachment) (io.ReadCloser, error) { panic("no") }
		if _, _, err := d.keep("a"); !ports.IsKind(err, ports.KindInternal) || d.opens != 1 {
			t.Errorf("it ended with %v after %d tries", err, d.opens)
		}
		d.open = nil
		if _, _, err := d.keep("b"); err != nil {
			t.Errorf("and the next with %v", err)
		}
	})
}

func TestWhatCannotBeKeptIsNotSaidToBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.saves = ports.Errorf(ports.KindUnavailable, "save", "no room")
		if f, show, err := d.keep("a"); !ports.IsKind(err, ports.KindUnavailable) || f != (ports.File{}) || show != "" {
			t.Errorf("it gave %+v, %q (%v)", f, show, err)
		}
		in := room
		in.Channel = "mute"
		if _, _, err := d.Keep(t.Context(), in, 7, "a", ports.Attachment{ID: "x"}); !ports.IsKind(err, ports.KindNotFound) {
			t.Errorf("of a channel that opens nothing it gave %v", err)
		}
	})
}
