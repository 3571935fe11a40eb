package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
)

//go:embed assets
var files embed.FS

// kinds are spelled out: package mime also reads the machine's own tables.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// pages serves the HTML pages and their files. The files' address has the hash of
// them all in it, so that browsers keep them for ever and never mix two releases.
type pages struct {
	title     string
	release   string
	templates *template.Template
}

// door is what a page before the chat says.
type door struct {
	Words  string
	Code   string // to post to /login
	Post   bool   // at once
	Guests bool   // offer to ask for access
}

func newPages(title string) (*pages, error) {
	p := &pages{title: title}
	var err error
	if p.release, err = release(); err != nil {
		return nil, err
	}
	p.templates, err = template.New("").Funcs(template.FuncMap{"asset": p.address}).ParseFS(files, "assets/*.html")
	return p, err
}

func (p *pages) chat(w http.ResponseWriter, user string) {
	p.show(w, http.StatusOK, "page.html", struct{ Title, User string }{p.title, user})
}

func (p *pages) door(w http.ResponseWriter, status int, d door) {
	p.show(w, status, "door.html", struct {
		Title string
		door
	}{p.title, d})
}

func (p *pages) show(w http.ResponseWriter, status int, name string, data any) {
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, name, data); err != nil {
		http.Error(w, "This page cannot be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // the reader may have left
}

func (p *pages) address(name string) string { return "/assets/" + p.release + "/" + name }

// asset serves a file of this release; a page of another has to be loaded again.
func (p *pages) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, ok := kinds[path.Ext(name)]
	content, err := files.ReadFile("assets/" + name)
	if !ok || err != nil || r.PathValue("release") != p.release {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content) // the reader may have left
}

// release is a hash of all files.
func release() (string, error) {
	entries, err := fs.ReadDir(files, "assets")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, e := range entries {
		content, err := files.ReadFile("assets/" + e.Name())
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", e.Name(), len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
