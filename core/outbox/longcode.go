package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// Code that would fill more than this many messages becomes a file: in a chat nobody
// copies it together from pieces.
const longCode = 2

// codeID is how the ids of such files begin.
const codeID = "code-"

// opening is the first line of a fence (https://spec.commonmark.org/0.31.2/#fenced-code-blocks)
// that stands in no quote.
var opening = regexp.MustCompile("^( {0,3})(`{3,}|~{3,})[ \t]*([^\\s`]*)([^`]*)$")

// withFiles takes very long code out of what a turn says, where the channel posts
// files: it is kept as an artifact, the text names it, and it follows the text. The
// names and ids come of the text alone, so that it is the same after a crash. Where
// the store does not take one, all stays as it is.
func (o *Outbox) withFiles(ch *channel, turn string, in ports.Conversation, c ports.Content) (ports.Content, []ports.Content) {
	if ch.uploader == nil || ch.traits.MaxText == 0 || c.Partial || len(c.Choices) > 0 || len(c.Text) <= longCode*ch.traits.MaxText {
		return c, nil
	}
	text, found := takeCode(c.Text, longCode*ch.traits.MaxText)
	files := make([]ports.Content, len(found))
	for i, f := range found {
		sum := sha256.Sum256([]byte(f.name + "\n" + f.code))
		a := ports.Artifact{In: in, ID: codeID + hex.EncodeToString(sum[:8]), Name: f.name, MIME: "text/plain", Size: int64(len(f.code)), Data: []byte(f.code)}
		err := guard.Write(guard.WithTurn(o.ctx, turn), o.ctx, o.leaks, "store_save", func(ctx context.Context) error { return o.store.Save(ctx, a) })
		if err != nil {
			o.log.Warn("code_not_kept", "channel", in.Channel, "chat", in.Chat, ports.TurnAttr(turn), "kind", ports.KindOf(err), "err", err)
			return c, nil
		}
		files[i] = ports.Content{Text: f.says(), File: &ports.File{Artifact: a.ID, Name: a.Name, MIME: a.MIME, Size: a.Size}}
	}
	c.Text = text
	return c, files
}

// codeFile is code that becomes a file.
type codeFile struct{ name, code string }

// says is what is said of it.
func (f codeFile) says() string {
	n, lines := strings.Count(f.code, "\n"), "lines"
	if n == 1 {
		lines = "line"
	}
	return fmt.Sprintf("📎 `%s` (%d %s)", f.name, n, lines)
}

// takeCode puts a line in the place of each fence with more than limit UTF-16 units in
// it. A fence that nothing closes stays: what was added to the text stands in it.
func takeCode(text string, limit int) (rest string, found []codeFile) {
	lines := strings.SplitAfter(text, "\n")
	var out strings.Builder
	for i := 0; i < len(lines); i++ {
		open := opening.FindStringSubmatch(strings.TrimRight(lines[i], "\r\n"))
		end := -1
		if open != nil && (open[2][0] == '~' || !strings.Contains(open[3]+open[4], "`")) {
			end = closing(lines, i+1, open[2])
		}
		if end < 0 {
			out.WriteString(lines[i])
			if open != nil { // to the end of the text
				out.WriteString(strings.Join(lines[i+1:], ""))
				break
			}
			continue
		}
		code := outdented(lines[i+1:end], len(open[1]))
		if prefix(code, limit) == len(code) {
			out.WriteString(strings.Join(lines[i:end+1], ""))
		} else {
			f := codeFile{fmt.Sprintf("answer-%d.%s", len(found)+1, extension(open[3])), code}
			found = append(found, f)
			out.WriteString("\n" + open[1] + f.says() + "\n\n")
		}
		i = end
	}
	return out.String(), found
}

// closing is the line that closes a fence, -1 if none does.
func closing(lines []string, from int, mark string) int {
	for i := from; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \t\r\n")
		body := strings.TrimLeft(line, " ")
		if len(line)-len(body) < 4 && len(body) >= len(mark) && strings.Trim(body, mark[:1]) == "" {
			return i
		}
	}
	return -1
}

// outdented is the code of a fence that is indented by n.
func outdented(lines []string, n int) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line[min(n, len(line)-len(strings.TrimLeft(line, " "))):])
	}
	return b.String()
}

// extension is how files of a language end. Of others a file is plain text: what a
// model calls a language must not make a program of it.
func extension(language string) string {
	language = strings.ToLower(language)
	if known := extensions[language]; known != "" {
		return known
	}
	if slices.Contains(alike, language) {
		return language
	}
	return "txt"
}

// alike are languages whose files end as they are called.
var alike = strings.Fields("asm awk c cfg cpp cs css csv dart diff ex fs go gradle graphql groovy h hcl hpp html ini ipynb java jl js json json5 jsonl " +
	"jsx kt less lua md mjs nim nix patch php pl proto ps1 py r rb rs rst sass scala scss sh sol sql svelte svg swift tcl tex tf toml ts tsv tsx txt vue " +
	"xml yaml yml zig")

var extensions = map[string]string{
	"bash": "sh", "c#": "cs", "c++": "cpp", "clojure": "clj", "csharp": "cs", "elixir": "ex", "erlang": "erl", "f#": "fs", "golang": "go", "haskell": "hs",
	"javascript": "js", "julia": "jl", "kotlin": "kt", "latex": "tex", "markdown": "md", "objective-c": "m", "ocaml": "ml", "perl": "pl", "powershell": "ps1",
	"python": "py", "python3": "py", "ruby": "rb", "rust": "rs", "shell": "sh", "terraform": "tf", "typescript": "ts", "zsh": "sh",
}
