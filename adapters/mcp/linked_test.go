//go:build unix

package mcp

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// links is a result that links to these URIs.
func links(uris ...string) func(*strictCall) {
	return func(c *strictCall) {
		var list []string
		for _, uri := range uris {
			list = append(list, fmt.Sprintf(`{"type":"resource_link","uri":%q,"name":"n","mimeType":"text/x-own"}`, uri))
		}
		c.result(`{"content":[` + strings.Join(list, ",") + `]}`)
	}
}

// newLibrary is a server whose tool links to these, and that can be read of.
func newLibrary(t *testing.T, version string, uris ...string) *strict {
	s := newStrict(t, version)
	s.can, s.call = `{"tools":{},"resources":{}}`, links(uris...)
	return s
}

// worked calls its tool, and gives what the links hold.
func (r *rig) worked() []string {
	r.t.Helper()
	result, err := r.call(r.t.Context(), "work", `{}`)
	if err != nil {
		r.t.Fatal(err)
	}
	var list []string
	for _, b := range result.Content {
		if b.Kind != ports.BlockLink {
			r.t.Errorf("the result has a %s", b.Kind)
		}
		list = append(list, b.MIME+" "+string(b.Data))
	}
	return list
}

func TestWhatAResultLinksToIsRead(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, wire := range []string{"stdio", "http"} {
			t.Run(version+" over "+wire, func(t *testing.T) {
				t.Parallel()
				s := newLibrary(t, version, "note://text", "note://blob", "https://example.org/x", "HTTP://example.org", "note://none", "note://folder")
				s.read = func(c *strictCall) {
					switch c.p.URI {
					case "note://text":
						c.result(`{"contents":[{"uri":"note://text","mimeType":"text/plain","text":"words"}]}`)
					case "note://blob":
						c.result(`{"contents":[{"uri":"note://blob","blob":"` + base64.StdEncoding.EncodeToString([]byte("\x00\xff")) + `"}]}`)
					case "note://folder":
						c.result(`{"contents":[{"uri":"note://folder/a","text":"a"},{"uri":"note://folder","text":"all"},{"uri":"note://folder/b","text":"b"}]}`)
					case "note://none":
						c.refuse(-32602, "Resource not found", "")
					default:
						c.fault("it reads %s", c.p.URI)
					}
				}
				r := s.running(wire, Deps{})
				want := []string{"text/plain words", "text/x-own \x00\xff", "text/x-own ", "text/x-own ", "text/x-own ", "text/x-own all"}
				if got := r.worked(); !slices.Equal(got, want) {
					t.Errorf("the links hold %q, want %q", got, want)
				}
			})
		}
	}
}

// Reading has bounds: a long list is no gift, a server that has no resources is not
// asked, and what is too large, malformed or missing stays a link.
func TestALinkThatCannotBeReadStaysOne(t *testing.T) {
	t.Parallel()
	const room = 2000
	large := strings.Repeat("x", room/2+1)
	for what, c := range map[string]struct {
		uris  []string
		can   string
		text  func(c *strictCall)
		want  []string // by their lengths
		reads int
	}{
		"as many as may be": {slices.Repeat([]string{"a:1"}, linksMost), "", func(c *strictCall) { c.result(`{"contents":[{"uri":"a:1","text":"12"}]}`) }, slices.Repeat([]string{"2"}, linksMost), linksMost},
		"one more":          {slices.Repeat([]string{"a:1"}, linksMost+1), "", nil, slices.Repeat([]string{"0"}, linksMost+1), 0},
		"no resources":      {[]string{"a:1"}, `{"tools":{}}`, nil, []string{"0"}, 0},
		"no contents":       {[]string{"a:1"}, "", func(c *strictCall) { c.result(`{"contents":[]}`) }, []string{"0"}, 1},
		"no list":           {[]string{"a:1"}, "", func(c *strictCall) { c.result(`{"contents":7}`) }, []string{"0"}, 1},
		"no base64":         {[]string{"a:1"}, "", func(c *strictCall) { c.result(`{"contents":[{"uri":"a:1","blob":"?"}]}`) }, []string{"0"}, 1},
		"nothing in it":     {[]string{"a:1"}, "", func(c *strictCall) { c.result(`{"contents":[{"uri":"a:1","text":""}]}`) }, []string{"0"}, 1},
		"too much of it": {[]string{"a:1", "a:1", "a:2"}, "", func(c *strictCall) {
			c.result(`{"contents":[{"uri":"a:1","text":"` + map[bool]string{true: large, false: "12"}[c.p.URI == "a:1"] + `"}]}`)
		}, []string{fmt.Sprint(len(large)), "0", "2"}, 3},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newLibrary(t, "2025-11-25", c.uris...)
			s.read = c.text
			if c.can != "" {
				s.can = c.can
			}
			var got []string
			src, err := New(s.wires()["http"](), Deps{})
			if err != nil {
				t.Fatal(err)
			}
			src.linkRoom = room
			for _, b := range startSource(t, src).ready().worked() {
				got = append(got, fmt.Sprint(len(b)-len("text/x-own ")))
			}
			if n := len(s.requests(methodRead)); !slices.Equal(got, c.want) || n != c.reads {
				t.Errorf("the links hold %v bytes after %d reads, want %v after %d", got, n, c.want, c.reads)
			}
		})
	}
}

// The tool ran: a server that never says what it links to costs its call no more than
// the rest of its time, and is told to stop. What there was no time left to ask for is
// not asked for, nor given up.
func TestALinkThatHangsCostsNoResult(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{"stdio", "http"} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			s, left := newLibrary(t, "2025-11-25", "note://a", "note://b"), make(chan time.Duration, 2)
			s.read = func(c *strictCall) {
				began := time.Now()
				<-c.ctx.Done()
				left <- time.Since(began)
			}
			r := s.running(wire, Deps{}, func(c *Config) { c.CallTimeout = 4 * time.Second })
			if got := r.worked(); !slices.Equal(got, []string{"text/x-own ", "text/x-own "}) {
				t.Errorf("the links hold %q", got)
			}
			select {
			case took := <-left:
				if took >= linksTime-time.Second { // the call had four
					t.Errorf("it was waited for %s", took)
				}
			case <-time.After(20 * time.Second):
				t.Error("the server was not told")
			}
			if n := len(s.requests(methodRead)); n != 1 {
				t.Errorf("%d links were asked for, want 1", n)
			}
		})
	}
}
