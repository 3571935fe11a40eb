package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"dragoman/core/internal/guard"
	"dragoman/core/internal/label"
	"dragoman/ports"
)

// Files takes in what came with messages.
type Files interface {
	// Keep fetches an attachment of the message with this seq and keeps it as an
	// artifact of the conversation, once for an id. show says as what a model can be
	// shown it; "" = as nothing.
	Keep(ctx context.Context, in ports.Conversation, seq int64, id string, a ports.Attachment) (f ports.File, show ports.BlockKind, err error)
	// Read is what is kept under an id.
	Read(ctx context.Context, in ports.Conversation, id string) ([]byte, error)
}

// fileNote is what became of an attachment, as the journal has it.
type fileNote struct {
	Seq  int64           `json:"seq"` // of its message
	At   int             `json:"at"`  // its place in it
	File ports.File      `json:"file"`
	Show ports.BlockKind `json:"show,omitempty"` // as what a model can be shown it
	Why  string          `json:"why,omitempty"`  // it could not be had, in words for the model
}

const (
	// What is sent again of the pictures and recordings of finished turns: beyond the
	// most of them only the last few are, so that a prompt begins as the one before for
	// as long as it can.
	mediaMost, mediaFew = 8, 4
	mediaBytes          = 6 << 20
	// What is sent of those of the running turn.
	mediaNow      = 20
	mediaNowBytes = 12 << 20
)

// fetch takes in the attachments of the turn's messages that are not noted yet. That
// one cannot be had is no error: the model is told. A crash before the note has it
// made again, under the same ids. Its error is the end of the wait.
func (t *turn) fetch(ctx context.Context) error {
	if t.script != nil {
		if b, ok := t.script.files(len(t.steps)); ok {
			t.add(ports.StepInput, -1, b)
		}
		return nil
	}
	due := t.unfetched()
	if t.cfg.Files == nil || len(due) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, attached := t.lease.In, make(map[int64][]ports.Attachment, len(due))
	for _, m := range t.taken {
		attached[m.Seq] = m.Attachments
	}
	landing := guard.Start(ctx, guard.Grace, t.leaks, "files", func(ctx context.Context) ([]fileNote, error) {
		kept := make(chan fileNote, len(due))
		for _, n := range due {
			go func() { kept <- t.keepFile(ctx, in, n, attached[n.Seq][n.At]) }()
		}
		notes := make([]fileNote, 0, len(due))
		for range due {
			notes = append(notes, <-kept)
		}
		slices.SortFunc(notes, func(a, b fileNote) int { return int(a.Seq-b.Seq)*1000 + a.At - b.At })
		return notes, nil
	})
	l, err := wait(ctx, t, landing)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	if l.Err != nil {
		return fmt.Errorf("files: %w", l.Err)
	}
	t.add(ports.StepInput, -1, inputBody{V: bodyVersion, Files: l.Value})
	return nil
}

// unfetched are the attachments of the turn that no row tells of.
func (t *turn) unfetched() []fileNote {
	notes := notesOf(t.steps)
	var due []fileNote
	for _, m := range t.taken {
		for i, a := range m.Attachments {
			_, known := notes[place{m.Seq, i}]
			if m.Route == ports.RouteLane && a.ID != "" && !known {
				due = append(due, fileNote{Seq: m.Seq, At: i, File: ports.File{Name: label.Name(a.Name), MIME: a.MIME, Size: a.Size}})
			}
		}
	}
	return due
}

// keepFile fetches one attachment. It never panics.
func (t *turn) keepFile(ctx context.Context, in ports.Conversation, n fileNote, a ports.Attachment) (out fileNote) {
	defer func() {
		if r := recover(); r != nil {
			t.log.Error("attachment_not_kept", "err", ports.Errorf(ports.KindInternal, "files", "panic: %v", r))
			out = n
			out.Why = textNotFetched
		}
	}()
	sum := sha256.Sum256([]byte(a.ID)) // an edit may put another file in its place
	id := fmt.Sprintf("m%d-%d-%s", n.Seq, n.At, hex.EncodeToString(sum[:3]))
	f, show, err := t.cfg.Files.Keep(ctx, in, n.Seq, id, a)
	if err != nil {
		t.log.Warn("attachment_not_kept", "seq", n.Seq, "mime", a.MIME, "size", a.Size, "kind", ports.KindOf(err), "err", err)
		n.Why = textNotFetched
		if ports.IsKind(err, ports.KindTooLarge) {
			n.Why = textTooLarge
		}
		return n
	}
	n.File, n.Show = f, show
	return n
}

// Why a file could not be had, in words for the model.
const (
	textNotFetched = "it could not be fetched"
	textTooLarge   = "it is larger than the 20 MB that can be fetched"
)

// place is where an attachment stands.
type place struct {
	seq int64
	at  int
}

// notesOf is what a journal says of attachments.
func notesOf(steps []ports.Step) map[place]fileNote {
	notes := map[place]fileNote{}
	for _, s := range steps {
		var b inputBody
		if s.Kind == ports.StepInput && read(s, &b) == nil {
			for _, n := range b.Files {
				notes[place{n.Seq, n.At}] = n
			}
		}
	}
	return notes
}

// attached says what came with a message, with what of it models can be shown: their
// data is read when they are asked.
func attached(m ports.Inbox, notes map[place]fileNote) (text string, blocks []ports.Block) {
	for i, a := range m.Attachments {
		n, ok := notes[place{m.Seq, i}]
		switch {
		case !ok:
			text += fmt.Sprintf("\n[The person attached a file that you cannot see: %s]", strings.TrimSpace(oneLine(a.MIME)+" "+label.Name(a.Name)))
			continue
		case n.Why != "":
			text += fmt.Sprintf("\n[The person attached a file: %s. You cannot see it: %s.]", about(n.File), n.Why)
			continue
		}
		text += "\n[The person attached a file: " + about(n.File)
		if n.File.Size == 0 {
			text += ", empty"
		}
		text += fmt.Sprintf(". It is kept as artifact %q", n.File.Artifact)
		if isText(n.File.MIME) {
			text += ": read it with read_artifact"
		}
		text += ".]"
		if n.Show != "" {
			blocks = append(blocks, ports.Block{Kind: n.Show, MIME: n.File.MIME, Name: n.File.Name, URI: artifactURI + n.File.Artifact, Size: n.File.Size})
		}
	}
	return text, blocks
}

// artifactURI marks a block whose data is an artifact of the conversation.
const artifactURI = "artifact:"

// about is a file in words.
func about(f ports.File) string {
	var parts []string
	for _, s := range []string{f.Name, f.MIME} {
		if s = oneLine(s); s != "" {
			parts = append(parts, s)
		}
	}
	if f.Size > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes", f.Size))
	}
	return strings.Join(parts, ", ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// isText reports whether read_artifact can show files of a media type.
func isText(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "json") || strings.HasSuffix(mediaType, "xml") ||
		slices.Contains([]string{"application/javascript", "application/x-yaml", "application/yaml", "application/toml", "application/sql", "image/svg"}, mediaType)
}

// isKept reports whether a block's data has to be read.
func isKept(b ports.Block) bool { return len(b.Data) == 0 && strings.HasPrefix(b.URI, artifactURI) }

// lately leaves in the entries of finished turns the last few pictures and
// recordings. What is left out changes seldom as turns are added.
func lately(list []ports.Entry) []ports.Entry {
	type at struct{ entry, block int }
	var kept, gone []at
	var bytes int64
	for i, e := range list {
		for k, b := range e.Blocks {
			if !isKept(b) {
				continue
			}
			kept, bytes = append(kept, at{i, k}), bytes+b.Size
			if len(kept) <= mediaMost && bytes <= mediaBytes {
				continue
			}
			for len(kept) > mediaFew || len(kept) > 1 && bytes > mediaBytes/2 {
				bytes -= list[kept[0].entry].Blocks[kept[0].block].Size
				gone, kept = append(gone, kept[0]), kept[1:]
			}
		}
	}
	if len(gone) == 0 {
		return list
	}
	return replaceBlocks(list, func(i, k int, _ ports.Block) (ports.Block, string) {
		if slices.Contains(gone, at{i, k}) {
			return ports.Block{}, textShownBefore
		}
		return list[i].Blocks[k], ""
	})
}

// lastOf leaves in the entries of the running turn as many pictures and recordings as
// a request has room for: the last ones.
func lastOf(list []ports.Entry) []ports.Entry {
	n, bytes := 0, int64(0)
	keep := map[[2]int]bool{}
	for i, e := range slices.Backward(list) {
		for k, b := range slices.Backward(e.Blocks) {
			if !isKept(b) {
				continue
			}
			n, bytes = n+1, bytes+b.Size
			keep[[2]int{i, k}] = n <= mediaNow && bytes <= mediaNowBytes
		}
	}
	if n <= mediaNow && bytes <= mediaNowBytes {
		return list
	}
	return replaceBlocks(list, func(i, k int, b ports.Block) (ports.Block, string) {
		if keep[[2]int{i, k}] {
			return b, ""
		}
		return ports.Block{}, textNoRoom
	})
}

// Why a file is told of in words, for the model.
const (
	textShownBefore = "it was shown before and is left out here"
	textNoRoom      = "there is no room for it"
	textNotSeen     = "you cannot see or hear it"
	textNotShown    = "it cannot be shown now"
)

// replaceBlocks changes the blocks whose data is kept apart, or puts words in their
// place. The entries themselves stay as they are.
func replaceBlocks(list []ports.Entry, with func(entry, block int, b ports.Block) (ports.Block, string)) []ports.Entry {
	out := list
	for i, e := range list {
		if !slices.ContainsFunc(e.Blocks, isKept) {
			continue
		}
		if &out[0] == &list[0] {
			out = slices.Clone(list)
		}
		var blocks []ports.Block
		for k, b := range e.Blocks {
			if !isKept(b) {
				blocks = append(blocks, b)
				continue
			}
			nb, why := with(i, k, b)
			if why == "" {
				blocks = append(blocks, nb)
				continue
			}
			out[i].Text += fmt.Sprintf("\n[Artifact %q: %s.]", strings.TrimPrefix(b.URI, artifactURI), why)
		}
		out[i].Blocks = blocks
	}
	return out
}

// show gives a model's entries the data of what it takes, and words for the rest.
func (t *turn) show(list []ports.Entry, facts ports.ModelFacts) []ports.Entry {
	return replaceBlocks(list, func(_, _ int, b ports.Block) (ports.Block, string) {
		takes := b.Kind == ports.BlockImage && facts.Images || b.Kind == ports.BlockAudio && facts.Audio
		if !takes || t.cfg.Files == nil {
			return b, textNotSeen
		}
		data, ok := t.media[b.URI]
		if !ok {
			var err error
			data, err = t.cfg.Files.Read(t.lane, t.lease.In, strings.TrimPrefix(b.URI, artifactURI))
			if err != nil {
				t.log.Warn("attachment_not_read", "kind", ports.KindOf(err), "err", err)
				return b, textNotShown
			}
			if t.media == nil {
				t.media = map[string][]byte{}
			}
			t.media[b.URI] = data
		}
		b.Data, b.URI, b.Size = data, "", 0
		return b, ""
	})
}

// inWords is entries without what has to be read.
func inWords(list []ports.Entry) []ports.Entry {
	return replaceBlocks(list, func(_, _ int, b ports.Block) (ports.Block, string) { return b, textShownBefore })
}

// filesMost is how many files of tools, and how many links, a turn posts behind its
// answer: the last ones.
const filesMost = 10

// deliverFiles adds what tools gave the person to the next commit, behind the answer:
// the links that it does not name, and the files.
func (t *turn) deliverFiles(answer string) {
	var list []ports.File
	var links []string
	for _, s := range t.steps {
		var b resultBody
		if s.Kind == ports.StepResult && read(s, &b) == nil && b.Outcome == ports.CallOK {
			list = append(list, b.Files...)
			for _, l := range b.Links {
				if line := "- " + label.Link(l.Name, l.URI); !strings.Contains(answer, l.URI) && !slices.Contains(links, line) {
					links = append(links, line)
				}
			}
		}
	}
	if len(links) > 0 {
		t.deliverBehind("l0", ports.Content{Text: strings.Join(links[max(0, len(links)-filesMost):], "\n")})
	}
	for i, f := range list[max(0, len(list)-filesMost):] {
		t.deliverBehind(fmt.Sprint("f", i), ports.Content{Text: label.Markdown(f), File: &f})
	}
}

// deliverBehind adds a message behind the answer to the next commit.
func (t *turn) deliverBehind(name string, c ports.Content) {
	answered := t.taken[len(t.taken)-1].Message
	for k, part := range t.render(t.lease.In, c) {
		id := fmt.Sprintf("%s/%s/%d", t.id, name, k)
		t.pending.Deliveries = append(t.pending.Deliveries, ports.Delivery{ID: id,
			Out: ports.Outgoing{In: t.lease.In, Content: part, Nonce: id, Reply: answered.Reply}})
	}
}

// offered tells the model what the person gets of a result.
func offered(r ports.CallResult) string {
	if r.Outcome != ports.CallOK || len(r.Files) == 0 {
		return ""
	}
	names := make([]string, len(r.Files))
	for i, f := range r.Files {
		names[i] = f.Name
	}
	return fmt.Sprintf("\n[The person gets this as files behind your answer: %s.]", strings.Join(names, ", "))
}
