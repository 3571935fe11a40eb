package toolbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"dragoman/core/internal/label"
	"dragoman/ports"
)

const (
	// blocksMax bounds the images and sounds of one result, in bytes: they stay in
	// the journal and in the prompts that follow.
	blocksMax = 4 << 20
	// artifactsMax bounds how many artifacts one result leaves behind.
	artifactsMax = 20
	// linksMax is how many links a person is given of a result: one with more is a list
	// of what there is.
	linksMax = 5
)

// answer is a tool's result on its way into words for the model.
type answer struct {
	box    *Toolbox
	call   ports.ToolCall
	room   int  // for images and sounds, in bytes
	kept   int  // artifacts
	failed bool // the tool says that it failed: the person gets none of it
	blocks []ports.Block
	files  []ports.File                 // kept, for the person
	notes  map[[sha256.Size]byte]string // what the text says of data that it does not show
}

func (b *Toolbox) newAnswer(c ports.ToolCall) *answer {
	return &answer{box: b, call: c, room: blocksMax, notes: map[[sha256.Size]byte]string{}}
}

// text tells the whole result, one part per line and each thing once.
func (a *answer) text(ctx context.Context, r ports.ToolResult) string {
	lines := make([]string, len(r.Content))
	var texts []string
	var at []int // where in lines they are
	for i, block := range r.Content {
		switch {
		case block.Kind == ports.BlockText:
			lines[i] = block.Text
			texts, at = append(texts, block.Text), append(at, i)
		case block.Kind == ports.BlockLink && len(block.Data) > 0:
			lines[i] = linkText(block) + "\n" + a.data(ctx, block)
		case block.Kind == ports.BlockLink:
			lines[i] = linkText(block)
		case block.Kind == ports.BlockResource && len(block.Data) == 0:
			lines[i] = strings.TrimSpace("[resource " + block.URI + "]\n" + block.Text)
		default:
			lines[i] = a.data(ctx, block)
		}
	}
	if len(r.Structured) == 0 {
		return strings.Join(lines, "\n")
	}
	note := func(data []byte) string { return a.data(ctx, ports.Block{Kind: "base64", Data: data}) }
	same, once := double(string(r.Structured), texts)
	for i, is := range same {
		if is {
			lines[at[i]], _ = compact(texts[i], note)
		}
	}
	if !once {
		if shown, ok := compact(string(r.Structured), note); ok {
			lines = append(lines, shown)
		}
	}
	return strings.Join(lines, "\n")
}

func linkText(b ports.Block) string {
	about := []string{}
	if b.MIME != "" {
		about = append(about, b.MIME)
	}
	if b.Size > 0 {
		about = append(about, fmt.Sprintf("%d bytes", b.Size))
	}
	text := fmt.Sprintf("[%s](%s) %s", b.Name, b.URI, b.Text)
	if len(about) > 0 {
		text = strings.TrimSpace(text) + " (" + strings.Join(about, ", ") + ")"
	}
	return strings.TrimSpace(text)
}

// data shows a block's data to the model if models take its kind, else keeps it
// as an artifact of the conversation, and says in words what it is. The same
// data is shown or kept once.
func (a *answer) data(ctx context.Context, b ports.Block) string {
	key := sum(b.Data)
	if note, ok := a.notes[key]; ok {
		return note
	}
	about := []string{string(b.Kind)}
	if b.URI != "" {
		about[0] += " " + b.URI
	}
	kind, mediaType, ok := showable(b)
	if ok && len(b.Data) <= a.room {
		a.room -= len(b.Data)
		a.blocks = append(a.blocks, ports.Block{Kind: kind, MIME: mediaType, Data: b.Data})
		a.notes[key] = fmt.Sprintf("[%s, %s, %d bytes]", about[0], mediaType, len(b.Data))
		if a.offers(b) {
			a.offer(ctx, b, mediaType)
		}
		return a.notes[key]
	}
	if mediaType != "" {
		about = append(about, mediaType)
	}
	about = append(about, fmt.Sprintf("%d bytes", len(b.Data)))
	if fate := a.keep(ctx, b, mediaType); fate != "" {
		about = append(about, fate)
	}
	a.notes[key] = "[" + strings.Join(about, ", ") + "]"
	return a.notes[key]
}

// keep saves a block's data as an artifact, and says so. A call that belongs to
// no turn belongs to no conversation: its caller has the block itself.
func (a *answer) keep(ctx context.Context, b ports.Block, mediaType string) string {
	switch {
	case a.call.Turn == "" || len(b.Data) == 0:
		return ""
	case a.kept == artifactsMax:
		return "left out: the result has too many files"
	}
	id, ok := a.artifact(ctx, b, mediaType)
	if !ok {
		return "left out: it could not be kept"
	}
	if a.offers(b) {
		a.files = append(a.files, a.file(id, b, mediaType))
	}
	if utf8.Valid(b.Data) && bytes.IndexByte(b.Data, 0) < 0 {
		return fmt.Sprintf("kept as artifact %q: read it with read_artifact", id)
	}
	return fmt.Sprintf("kept as artifact %q, which is not text", id)
}

// artifact saves a block's data.
func (a *answer) artifact(ctx context.Context, b ports.Block, mediaType string) (id string, ok bool) {
	a.kept++
	name := a.call.Name
	if b.URI != "" {
		name = clip(b.URI, 200)
	}
	id = artifactID(a.call.Key, b.Data)
	return id, a.box.save(ctx, a.call, ports.Artifact{ID: id, Name: name, MIME: mediaType, Data: b.Data})
}

// offers reports whether the person is to have a block: a picture, a recording, a
// file or what a link led to, of a call that did not fail, as opposed to data within
// its text.
func (a *answer) offers(b ports.Block) bool {
	return !a.failed && a.call.Turn != "" && slices.Contains([]ports.BlockKind{ports.BlockImage, ports.BlockAudio, ports.BlockResource, ports.BlockLink}, b.Kind)
}

// links are those of a result that a person can open.
func (a *answer) links(r ports.ToolResult) (list []ports.Block) {
	n := 0
	for _, b := range r.Content {
		if b.Kind != ports.BlockLink {
			continue
		}
		if n++; n > linksMax || a.failed || a.call.Turn == "" {
			return nil
		}
		if u, err := url.Parse(b.URI); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
			list = append(list, ports.Block{Kind: ports.BlockLink, URI: u.String(), Name: label.Name(b.Name)})
		}
	}
	return list
}

// offer has the person get what the model is shown.
func (a *answer) offer(ctx context.Context, b ports.Block, mediaType string) {
	if a.kept == artifactsMax {
		return
	}
	if id, ok := a.artifact(ctx, b, mediaType); ok {
		a.files = append(a.files, a.file(id, b, mediaType))
	}
}

func (a *answer) file(id string, b ports.Block, mediaType string) ports.File {
	return ports.File{Artifact: id, Name: fileName(a.call.Name, b, mediaType), MIME: mediaType, Size: int64(len(b.Data))}
}

// endings are what files of a type are called by those who open them.
var endings = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "video/mp4": ".mp4",
	"text/plain": ".txt", "text/markdown": ".md", "text/csv": ".csv", "text/html": ".html",
	"application/pdf": ".pdf", "application/json": ".json", "application/zip": ".zip", "application/gzip": ".gz",
}

// fileName is what a file is called: as its URI ends, else as it is named, else as its
// tool.
func fileName(tool string, b ports.Block, mediaType string) string {
	name := ""
	if u, err := url.Parse(b.URI); err == nil && b.URI != "" {
		name = label.Name(path.Base(u.Path))
	}
	if named := label.Name(b.Name); named != "" && path.Ext(name) == "" {
		name = named
	}
	if name = cmp.Or(name, tool); path.Ext(name) == "" {
		name += endings[mediaType]
	}
	return name
}

// save keeps an artifact for the call's conversation.
func (b *Toolbox) save(ctx context.Context, c ports.ToolCall, a ports.Artifact) bool {
	a.In = c.In
	if err := b.artifacts.Save(ctx, a); err != nil {
		b.log.Warn("artifact_not_saved", ports.TurnAttr(c.Turn), "tool", c.Name, "kind", ports.KindOf(err), "err", err)
		return false
	}
	return true
}

// artifactID is the same for the same data of the same call: run again, it keeps
// nothing twice.
func artifactID(key string, data []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s", len(key), key)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// showable says as what models take a block, if they do. A server's word on what
// its data is does not count where the data tells: a provider refuses the whole
// prompt for an image that is none, in each turn that follows.
func showable(b ports.Block) (kind ports.BlockKind, mediaType string, ok bool) {
	found := http.DetectContentType(b.Data)
	if slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, found) {
		return ports.BlockImage, found, true
	}
	declared, _, err := mime.ParseMediaType(b.MIME)
	if err != nil {
		declared = clip(b.MIME, 100)
	}
	switch {
	case found == "audio/wave":
		return ports.BlockAudio, "audio/wav", true
	case found == "audio/mpeg", (declared == "audio/mpeg" || declared == "audio/mp3") && isMP3(b.Data):
		return ports.BlockAudio, "audio/mpeg", true
	case declared == "" && strings.HasPrefix(found, "text/") && !utf8.Valid(b.Data):
		declared = "application/octet-stream"
	case declared == "" && len(b.Data) > 0:
		declared, _, _ = strings.Cut(found, ";")
	}
	return "", declared, false
}

// isMP3 reports whether data begins with a frame of MPEG audio (ISO 11172-3,
// 2.4.1.2): a file without a tag does.
func isMP3(data []byte) bool {
	return len(data) > 2 && data[0] == 0xff && data[1]&0xe0 == 0xe0
}

func sum(data []byte) [sha256.Size]byte { return sha256.Sum256(data) }
