package web

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"dragoman/ports"
)

// folder makes the rig's files those of one chat.
func (r *rig) folder(chat string, files ...ports.Artifact) {
	r.files = func(ctx context.Context, of, id string, offset, limit int64) (ports.Artifact, error) {
		for _, a := range files {
			if of == chat && a.ID == id {
				a.Size = int64(len(a.Data))
				a.Data = a.Data[offset:min(a.Size, offset+limit)]
				return a, r.mem.do(ctx, "read", func() {})
			}
		}
		return ports.Artifact{}, ports.Errorf(ports.KindNotFound, "read", "none")
	}
}

// newFolder is a rig whose first guest has a picture and a large file.
func newFolder(t *testing.T) (*rig, *browser, []byte) {
	r := newIdleRig(t)
	b := r.guest()
	large := bytes.Repeat([]byte("0123456789\x00\xff"), filePage/4)
	r.folder(b.user, ports.Artifact{ID: "pic", MIME: "image/png", Data: []byte("\x89PNG")}, ports.Artifact{ID: "large", MIME: "text/html", Data: large},
		ports.Artifact{ID: "svg", MIME: "image/svg+xml", Data: []byte("<svg/>")}, ports.Artifact{ID: "none"})
	r.run(r.inbox)
	return r, b, large
}

func TestAFileIsALinkBelowWhatIsSaidOfIt(t *testing.T) {
	r, b, _ := newFolder(t)
	for i, c := range []struct {
		file ports.File
		want string
	}{
		{ports.File{Artifact: "pic", Name: "cat.png", MIME: "image/png"},
			`<p><a class=\"file\" href=\"/api/files/pic\" download=\"cat.png\"><img src=\"/api/files/pic\" alt=\"cat.png\"></a></p>`},
		{ports.File{Artifact: "a/../b?x", Name: `"><script>alert(1)</script>`, MIME: "text/html"},
			`<p><a class=\"file\" href=\"/api/files/a%2F..%2Fb%3Fx\" download=\"&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\">&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;</a></p>`},
		{ports.File{Artifact: "svg", MIME: "image/svg+xml"}, `<p><a class=\"file\" href=\"/api/files/svg\" download=\"file\">file</a></p>`},
	} {
		content := ports.Content{Text: "*said* of it", File: &c.file}
		for _, how := range []string{"rendered", "plain"} {
			if how == "rendered" {
				parts, err := r.Render(ports.Content{Text: content.Text})
				if err != nil {
					t.Fatal(err)
				}
				content.Body = parts[0].Body
			} else {
				content.Body = nil
			}
			m := ports.Outgoing{In: ports.Conversation{Chat: b.user}, Content: content, Nonce: string(rune('a'+i)) + how}
			if _, err := r.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			stored, err := r.mem.Tail(t.Context(), b.user, -1, 1)
			got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(stored[0].Body))
			if err != nil || !strings.Contains(got, c.want) || !strings.Contains(got, "<em>said</em> of it") {
				t.Errorf("%s, the feed has %s (%v), want %s", how, got, err, c.want)
			}
		}
	}
}

func TestAFileIsForThePersonOfItsConversation(t *testing.T) {
	r, b, large := newFolder(t)
	for id, want := range map[string]struct {
		kind string
		data []byte
	}{
		"pic":   {"image/png", []byte("\x89PNG")},
		"large": {"application/octet-stream", large},
		"svg":   {"application/octet-stream", []byte("<svg/>")},
		"none":  {"application/octet-stream", nil},
	} {
		resp, body := b.get("/api/files/" + id)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != want.kind || body != string(want.data) {
			t.Errorf("%s: %d, %s, %d bytes", id, resp.StatusCode, resp.Header.Get("Content-Type"), len(body))
		}
		if resp.Header.Get("Content-Disposition") != "attachment" || resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: the headers are %v", id, resp.Header)
		}
		if resp, body := r.guest().get("/api/files/" + id); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: another person got %d, %.100s", id, resp.StatusCode, body)
		}
		if resp, body := r.browser().get("/api/files/" + id); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: nobody got %d, %.100s", id, resp.StatusCode, body)
		}
	}
	if resp, _ := b.get("/api/files/other"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("of what there is not: %d", resp.StatusCode)
	}
	r.mem.fail(func(_ context.Context, op string, act func()) error {
		act()
		if op == "read" {
			return ports.Errorf(ports.KindUnavailable, "memory read", "not now")
		}
		return nil
	})
	if resp, _ := b.get("/api/files/pic"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("while the store cannot be read: %d", resp.StatusCode)
	}
	r.mem.fail(nil)
	r.stop()
	if resp, _ := b.get("/api/files/pic"); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("while the channel does not run: %d", resp.StatusCode)
	}
}

// A reader of what breaks off is not told that it has all of it.
func TestAFileThatBreaksOffIsNotWhole(t *testing.T) {
	r, b, _ := newFolder(t)
	reads := 0
	r.mem.fail(func(_ context.Context, op string, act func()) error {
		act()
		if op == "read" {
			if reads++; reads > 1 {
				return ports.Errorf(ports.KindUnavailable, "memory read", "not now")
			}
		}
		return nil
	})
	resp, err := b.client.Get(r.server.URL + "/api/files/large")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got bytes.Buffer
	if n, err := got.ReadFrom(resp.Body); err == nil {
		t.Errorf("%d bytes came, and no error", n)
	}
}
