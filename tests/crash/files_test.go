package crash

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"dragoman/ports"
	"dragoman/tests/fake/telegram"
)

// shownAs begins what is said of the picture that the world's tool draws.
const shownAs = "draw_i"

// drawing is that picture.
var drawing = telegram.Photo(8, 6).Data

// files are the dramas of files that people send, and that they get.
func files() []drama {
	notes := []*telegram.File{telegram.Document("notes.txt", "text/plain", []byte("to be read"))}
	album := []*telegram.File{telegram.Photo(40, 30), telegram.Photo(30, 40)}
	out := drama{name: "file out", calls: []string{"draw_i"}, unknown: sayAgain, kept: 1, acts: []act{{at: shownAs}}}
	in := drama{name: "file in", files: notes, calls: []string{"read_a"}, kept: 1}
	bareIn := onBare(in)
	bareIn.kept = 0
	return []drama{
		in,
		{name: "album that interrupts", busy: ports.BusyInterrupt, calls: []string{"stay_h"}, kept: 2, ends: []string{answerAlso},
			acts: []act{{at: "stay_h", does: sends, what: sayAlso, files: album}}},
		{name: "album that is forgotten", files: album, says: sayOld, ends: []string{"I have forgotten"},
			gone: []string{sayOld, base64.StdEncoding.EncodeToString(album[0].Data), base64.StdEncoding.EncodeToString(album[1].Data)}, acts: []act{{at: answerFirst, does: forgets, of: sayOld}}},
		out,
		bareIn,
		onBare(out),
	}
}

// checkGone holds what was deleted, or has other words by now, to be nowhere that the
// last message comes to.
func (p *play) checkGone() {
	if slices.ContainsFunc(p.people.chats(), isGivenUp) {
		return // who saw that may have changed nothing
	}
	for _, told := range p.world.prompts() {
		if last := told[len(told)-1]; !p.d.never && (last.who != "user" || last.says != sayNext) {
			continue
		}
		for _, l := range told {
			for _, word := range p.d.gone {
				if strings.Contains(l.says, word) {
					p.fault("the model is told %q, and %q is gone", l.says, word)
				}
			}
		}
	}
	if !p.people.quiet && !p.d.never {
		return // an edit leaves its message as it was answered
	}
	for _, word := range p.d.gone {
		if n, err := p.rows.count(`SELECT COUNT(*) FROM inbox WHERE json_extract(body, '$.text') = '` + word + `'`); err != nil || n > 0 {
			p.fault("%d rows of what was said have %q, which is gone (%v)", n, word, err)
		}
	}
}

// checkFiles holds each file to be kept once, and to come as it is.
func (p *play) checkFiles() {
	if n, err := p.rows.count(`SELECT COUNT(*) FROM artifact`); err != nil || n != p.d.kept && !slices.ContainsFunc(p.people.chats(), isGivenUp) {
		p.fault("%d files are kept, want %d (%v)", n, p.d.kept, err)
	}
	for _, m := range p.posts() {
		if m.File != nil && !bytes.Equal(m.File.Data, drawing) {
			p.fault("a file of %d bytes came, the tool drew one of %d", len(m.File.Data), len(drawing))
		}
		if is := strings.HasPrefix(m.Text, shownAs); is && (m.File == nil) != p.d.bare {
			p.fault("the picture came as %q, and is a file: %v", m.Text, m.File != nil)
		}
	}
}
