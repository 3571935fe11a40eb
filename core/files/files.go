// Package files takes in what came with messages: it fetches an attachment from its
// platform and keeps it as an artifact of the conversation.
//
// Promises: what is kept under an id stays so, and is not fetched again; no file is
// longer than Most, no more than a few are in memory at once, and none is waited for
// longer than a minute; what a file is said to be counts only where its data does not
// tell.
package files

import (
	"bytes"
	"context"
	"image"
	_ "image/gif"  // their sizes are read
	_ "image/jpeg" // from their beginnings
	_ "image/png"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/core/internal/label"
	"dragoman/ports"
)

const (
	// Most is the longest file that is taken, in bytes: what platforms let bots have.
	Most = 20 << 20
	// MostShown is the longest picture or recording that a model is shown, in bytes,
	// mostSide the longest side of a picture in pixels: beyond them a provider refuses
	// the whole prompt.
	MostShown = 3_700_000
	mostSide  = 8000
	// atOnce is how many files are fetched at once, of all conversations.
	atOnce = 4
	// fetchTimeout is for all tries of a file together: its person waits.
	fetchTimeout = time.Minute
	tries        = 3
	retryPause   = time.Second
	longestWait  = 10 * time.Second // that a platform may ask for
	sniff        = 512
)

// Files fetches and keeps. Make it with New; safe for many goroutines.
type Files struct {
	store   ports.Artifacts
	openers map[string]ports.Opener // by channel
	leaks   *guard.Leaks
	slots   chan struct{}
}

// New makes it for the channels that can open what came with their messages.
func New(store ports.Artifacts, openers map[string]ports.Opener, leaks *guard.Leaks) *Files {
	return &Files{store: store, openers: openers, leaks: leaks, slots: make(chan struct{}, atOnce)}
}

// Keep fetches an attachment of the message with this seq and keeps it under id,
// unless it is there already. It goes with its message. show says as what a model can
// be shown it; "" = as nothing. KindTooLarge: it is longer than Most. KindNotFound: it,
// or its message, is gone.
func (x *Files) Keep(ctx context.Context, in ports.Conversation, seq int64, id string, a ports.Attachment) (f ports.File, show ports.BlockKind, err error) {
	const op = "keep attachment"
	if had, err := x.read(ctx, in, id, MostShown); err == nil {
		f, show = describe(had)
		return f, show, nil
	}
	opener := x.openers[in.Channel]
	switch {
	case opener == nil:
		return f, "", ports.Errorf(ports.KindNotFound, op, "the channel opens no files")
	case a.Size > Most:
		return f, "", ports.Errorf(ports.KindTooLarge, op, "it has %d bytes", a.Size)
	}
	select {
	case x.slots <- struct{}{}:
	case <-ctx.Done():
		return f, "", ctx.Err()
	}
	defer func() { <-x.slots }()
	data, err := x.fetch(ctx, opener, a)
	if err != nil {
		return f, "", err
	}
	kept := ports.Artifact{In: in, ID: id, Message: seq, Name: label.Name(a.Name), MIME: typeOf(data, a.MIME), Size: int64(len(data)), Data: data}
	err = guard.Write(ctx, ctx, x.leaks, "store_save", func(ctx context.Context) error { return x.store.Save(ctx, kept) })
	if err != nil {
		return f, "", err
	}
	f, show = describe(kept)
	return f, show, nil
}

// Read is what is kept under id, for a model.
func (x *Files) Read(ctx context.Context, in ports.Conversation, id string) ([]byte, error) {
	a, err := x.read(ctx, in, id, MostShown)
	return a.Data, err
}

func (x *Files) read(ctx context.Context, in ports.Conversation, id string, limit int64) (ports.Artifact, error) {
	return guard.Read(ctx, x.leaks, "store_read", func(ctx context.Context) (ports.Artifact, error) { return x.store.Read(ctx, in, id, 0, limit) })
}

// fetch reads the whole file, and tries again where that may help.
func (x *Files) fetch(ctx context.Context, opener ports.Opener, a ports.Attachment) (data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for try := 1; ; try++ {
		data, err = x.once(ctx, opener, a)
		wait := max(retryPause, ports.RetryAfter(err))
		if err == nil || try == tries || !passing(err) || wait > longestWait || ctx.Err() != nil {
			return data, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
	}
}

func (x *Files) once(ctx context.Context, opener ports.Opener, a ports.Attachment) ([]byte, error) {
	return guard.Do(ctx, guard.Grace, x.leaks, "open_attachment", func(ctx context.Context) ([]byte, error) {
		const op = "read attachment"
		file, err := opener.Open(ctx, a)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		data, err := io.ReadAll(io.LimitReader(file, Most+1))
		switch {
		case err != nil && ports.KindOf(err) == ports.KindInternal: // of a connection that broke
			return nil, &ports.Error{Kind: ports.KindTemporary, Op: op, Err: err}
		case err != nil:
			return nil, err
		case len(data) > Most:
			return nil, ports.Errorf(ports.KindTooLarge, op, "it has more than %d bytes", Most)
		}
		return data, nil
	})
}

// passing reports whether the same may work in a moment.
func passing(err error) bool {
	switch ports.KindOf(err) {
	case ports.KindTemporary, ports.KindRateLimited, ports.KindTimeout, ports.KindUnavailable, ports.KindProtocol:
		return true
	}
	return false
}

// describe says what a kept file is, by its beginning at least.
func describe(a ports.Artifact) (ports.File, ports.BlockKind) {
	f := ports.File{Artifact: a.ID, Name: a.Name, MIME: a.MIME, Size: a.Size}
	if a.Size > MostShown {
		return f, ""
	}
	return f, showable(a)
}

// showable says as what a model can be shown a file.
func showable(a ports.Artifact) ports.BlockKind {
	switch a.MIME {
	case "image/webp":
		return ports.BlockImage
	case "image/jpeg", "image/png", "image/gif":
		if c, _, err := image.DecodeConfig(bytes.NewReader(a.Data)); err == nil && max(c.Width, c.Height) <= mostSide {
			return ports.BlockImage
		}
	case "audio/wav", "audio/mpeg":
		return ports.BlockAudio
	}
	return ""
}

// shown are the media types that models take. Data that is of one tells so.
var shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "audio/wav", "audio/mpeg"}

// typeOf is the media type of data: what a person's client says counts only where the
// data does not tell.
func typeOf(data []byte, said string) string {
	found, _, _ := strings.Cut(http.DetectContentType(data[:min(len(data), sniff)]), ";")
	if found == "audio/wave" {
		found = "audio/wav"
	}
	declared, _, err := mime.ParseMediaType(said)
	switch {
	case slices.Contains(shown, found), err != nil, declared == "":
		return found
	case declared == "audio/mpeg" && isMP3(data):
		return declared
	case slices.Contains(shown, declared):
		return found
	}
	return declared
}

// isMP3 reports whether data begins with a frame of MPEG audio (ISO 11172-3,
// 2.4.1.2): a file without a tag does.
func isMP3(data []byte) bool {
	return len(data) > 2 && data[0] == 0xff && data[1]&0xe0 == 0xe0
}
