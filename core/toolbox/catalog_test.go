package toolbox

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/ports"
)

// question is something that a person writes, with the tools that are right for it.
type question struct {
	Text  string   `json:"q"`
	Lang  string   `json:"lang"`
	Tools []string `json:"tools"`
}

// heldOut reports whether a question is for the figure alone: the ranking must not
// be tuned on it.
func (q question) heldOut() bool {
	sum := sha256.Sum256([]byte(q.Text))
	return binary.BigEndian.Uint32(sum[:])%3 == 0
}

// recordedTools are the tools of testdata/catalog, by server.
func recordedTools(t testing.TB) map[string]ports.Catalog {
	t.Helper()
	files, err := filepath.Glob("testdata/catalog/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no catalog", err)
	}
	all := map[string]ports.Catalog{}
	for _, file := range files {
		var server struct {
			Tools []struct {
				Name, Title, Description string
				InputSchema              json.RawMessage
			}
		}
		readJSON(t, file, &server)
		var c ports.Catalog
		for _, s := range server.Tools {
			c.Tools = append(c.Tools, still{Name: s.Name, Title: s.Title, Description: s.Description, InputSchema: s.InputSchema})
		}
		all[strings.TrimSuffix(filepath.Base(file), ".json")] = c
	}
	return all
}

func questions(t testing.TB) (list []question) {
	t.Helper()
	readJSON(t, "testdata/questions.json", &list)
	return list
}

func readJSON(t testing.TB, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(file, err)
	}
}

func TestTheQuestionsFitTheCatalog(t *testing.T) {
	known, count := map[string]bool{}, 0
	catalog := recordedTools(t)
	for server, c := range catalog {
		for _, tool := range c.Tools {
			known[qualified(server, tool.Spec().Name)] = true
			count++
		}
	}
	if len(catalog) != 10 || count != 300 {
		t.Errorf("there are %d tools of %d servers", count, len(catalog))
	}
	asked := questions(t)
	held, seen := 0, map[string]bool{}
	for _, q := range asked {
		if q.heldOut() {
			held++
		}
		if seen[q.Text] || len(q.Tools) == 0 {
			t.Errorf("%q is there twice, or has no answer", q.Text)
		}
		seen[q.Text] = true
		for _, name := range q.Tools {
			if !known[name] {
				t.Errorf("%q: there is no tool %q", q.Text, name)
			}
		}
	}
	if len(asked) < 90 || held*4 < len(asked) || held*5 > len(asked)*2 {
		t.Errorf("%d of %d questions are held out", held, len(asked))
	}
}
