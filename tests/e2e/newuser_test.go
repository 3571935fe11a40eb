package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/tests/fake/model"
)

// scene is what somebody sees of a bot, act by act: what a room shows that it did not
// show before. With $E2E_TRANSCRIPT it is appended to that file.
type scene struct {
	t    *testing.T
	view func(room string) string
	seen map[string]string // by room
	book strings.Builder
}

func newScene(t *testing.T, title string, view func(room string) string) *scene {
	s := &scene{t: t, view: view, seen: map[string]string{}}
	fmt.Fprintf(&s.book, "\n######## %s ########\n", title)
	t.Cleanup(func() {
		t.Log(s.book.String())
		file := os.Getenv("E2E_TRANSCRIPT")
		if file == "" {
			return
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		if _, err := f.WriteString(s.book.String()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// inTheMaking is the button below an answer that grows.
const inTheMaking = "[⏹ Stop]"

// act waits until a room shows something new that has all of these parts, and writes
// down what is new. Unless it is among the parts, nothing is in the making then.
func (s *scene) act(title, room string, want ...string) {
	s.t.Helper()
	var view, fresh string
	eventually(s.t, answerWithin, title, func() error {
		view = s.view(room)
		fresh = news(s.seen[room], view)
		if !slices.Contains(want, inTheMaking) && strings.Contains(view, inTheMaking) {
			return fmt.Errorf("something is in the making:\n%s", fresh)
		}
		for _, part := range want {
			if !strings.Contains(fresh, part) {
				return fmt.Errorf("there is no %q in what is new:\n%s", part, fresh)
			}
		}
		return nil
	})
	s.seen[room] = view // and no more: what came meanwhile is the next act's
	fmt.Fprintf(&s.book, "\n== %s\n%s", title, news("", fresh))
}

// tell writes down what the admin saw elsewhere.
func (s *scene) tell(title, text string) {
	fmt.Fprintf(&s.book, "\n== %s\n%s\n", title, strings.TrimRight(text, "\n"))
}

// whole writes down all that a room shows now.
func (s *scene) whole(title, room string) {
	fmt.Fprintf(&s.book, "\n-------- %s, as it stands at the end --------\n%s", title, s.view(room))
}

// news are the lines of a view that an earlier one did not have.
func news(before, after string) string {
	had := map[string]int{}
	for _, line := range strings.Split(before, "\n") {
		had[line]++
	}
	var fresh strings.Builder
	for _, line := range strings.SplitAfter(after, "\n") {
		if key := strings.TrimSuffix(line, "\n"); had[key] > 0 {
			had[key]--
			continue
		}
		fresh.WriteString(line)
	}
	return fresh.String()
}

// newUsersModel is what a new user's questions are answered by: it reads and writes
// files, looks in the lab for as long as that takes, counts pictures and says what it
// was told.
type newUsersModel struct{ folder string }

func (m newUsersModel) answer(q model.Request) model.Reply {
	said, last := strings.ToLower(q.Said()), q.Last()
	call := func(tool, arguments string) model.Reply {
		return model.Reply{Text: "One moment.", Calls: []model.Call{{Name: tool, Arguments: arguments}}}
	}
	path := func(name string) string { return quoted(filepath.Join(m.folder, name)) }
	looked := len(q.Messages) > 2 && q.Messages[len(q.Messages)-2].Role == "tool"
	switch {
	case last.Role == "tool":
		return model.Reply{Text: "It says: " + strings.TrimSpace(last.Text)}
	case looked && strings.Contains(said, "french"):
		return model.Reply{Text: "En français : c'est fait."}
	case strings.Contains(said, "what did i tell you"):
		var all []string
		for _, x := range q.Messages {
			if x.Role == "user" && !strings.Contains(x.Text, "what did I tell you") {
				all = append(all, "- "+x.Text)
			}
		}
		return model.Reply{Text: "You told me:\n\n" + strings.Join(all, "\n")}
	case strings.Contains(said, "read notes"):
		return call("files__read_text_file", `{"path": `+path("notes.txt")+`}`)
	case strings.Contains(said, "write"):
		_, what, _ := strings.Cut(said, "write ")
		return call("files__write_file", `{"path": `+path("list.txt")+`, "content": `+quoted(what)+`}`)
	case strings.Contains(said, "look in the lab"):
		return call("lab__look", `{}`)
	case len(last.Images) > 0:
		return model.Reply{Text: fmt.Sprintf("A picture! I see %d of them, and it is white.", len(last.Images))}
	case strings.Contains(said, "kept as artifact"):
		return model.Reply{Text: "You sent me this: " + q.Said()}
	}
	return model.Reply{Text: "You said: " + q.Said()}
}

// newUsersFolder is a folder with the notes of the README, and a lab whose doors open
// when the file of that name is there.
func newUsersFolder(t *testing.T) (folder, lab string, open func(bool)) {
	t.Helper()
	folder = notes(t, "Milk, bread, tea.\n")
	dir := t.TempDir()
	door := filepath.Join(dir, "open")
	script := filepath.Join(dir, "lab.sh")
	if err := os.WriteFile(script, []byte(gatedServer), 0o600); err != nil {
		t.Fatal(err)
	}
	lab = `{"command": "/bin/sh", "args": [` + quoted(script) + `], "trusted": true, "env": {"OPEN": ` + quoted(door) + `, "RAN": ` + quoted(filepath.Join(dir, "ran")) + `}}`
	return folder, lab, func(now bool) {
		err := os.WriteFile(door, nil, 0o600)
		if !now {
			err = os.Remove(door)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
