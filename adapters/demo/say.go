package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"dragoman/ports"
)

// introduction stands under the first answer of a conversation.
const introduction = "*I am the demo model, a stand-in that follows simple rules and understands very little. " +
	"Say `help` to see what I can reach. For real conversation, add a language model to the configuration.*"

func sayHello(c catalog) string {
	if len(c.tools) == 0 {
		return "Hello! " + noTools
	}
	return fmt.Sprintf("Hello! I can reach %s. Try one of these:\n\n- `help` lists them\n- `%s` calls one\n- or just ask for something that a tool does",
		count(len(c.tools), "tool"), form(c.tools[0], nil))
}

const noTools = "No tools are connected at the moment, and without tools I can do nothing but say so."

// sayTools lists all tools as Markdown, under the names of their servers.
func sayTools(c catalog) string {
	if len(c.tools) == 0 {
		return noTools
	}
	var b strings.Builder
	fmt.Fprintf(&b, "I can reach %s:\n", count(len(c.tools), "tool"))
	before := ""
	for _, t := range c.tools {
		server, _, ok := strings.Cut(t.Name, "__")
		if !ok {
			server = "built in"
		}
		if server != before {
			fmt.Fprintf(&b, "\n**%s**\n\n", server)
			before = server
		}
		b.WriteString("- `" + t.Name + "`")
		if text := firstSentence(t.ToolSpec); text != "" {
			b.WriteString(" – " + text)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nAsk in words, or exactly: `" + form(c.tools[0], nil) + "`")
	return b.String()
}

func sayLost(c catalog) string {
	if len(c.tools) == 0 {
		return noTools
	}
	return fmt.Sprintf("I found no tool that fits. I can reach %s: say `help` to see them, or call one exactly, as in `%s`.",
		count(len(c.tools), "tool"), form(c.tools[0], nil))
}

func sayNothingHeard(c catalog) string {
	return "I can read words only, and there were none. " + sayLost(c)
}

func sayChoice(found []candidate) string {
	var b strings.Builder
	b.WriteString("More than one tool fits. Which one do you mean?\n")
	for _, f := range found {
		b.WriteString("\n- `" + form(f.tool, f.args) + "`")
		if text := firstSentence(f.ToolSpec); text != "" {
			b.WriteString(" – " + text)
		}
	}
	return b.String()
}

func sayAmbiguous(name string, found []tool) string {
	return fmt.Sprintf("More than one tool is called `%s`: %s. Use the full name.", plain(name), names(found))
}

func sayUnknown(name string, near []tool) string {
	text := fmt.Sprintf("I know no tool called `%s`.", plain(name))
	if len(near) > 0 {
		return text + " Did you mean " + names(near) + "?"
	}
	return text + " Say `help` to see those that I know."
}

// sayForm asks for arguments by showing how to give them.
func sayForm(t tool, have map[string]any, missing params) string {
	var b strings.Builder
	fmt.Fprintf(&b, "For `%s` I also need:\n", t.Name)
	for _, p := range missing {
		fmt.Fprintf(&b, "\n- `%s`", p.name)
		if len(p.enum) > 0 {
			b.WriteString(", one of " + compact(p.enum))
		} else {
			b.WriteString(" (" + p.kind + ")")
		}
		if p.text != "" {
			b.WriteString(" – " + shorten(oneLine(p.text), 160))
		}
	}
	b.WriteString("\n\nPlease say it like this: `" + form(t, have) + "`")
	return b.String()
}

func sayBadJSON(t tool, err error) string {
	return fmt.Sprintf("What stands behind the name is not a JSON object (%s). It should look like this: `%s`", plain(err.Error()), form(t, nil))
}

// form is the exact way to call a tool, with examples for what is not known.
func form(t tool, have map[string]any) string {
	args := make([]string, 0, len(t.params))
	for _, p := range t.params {
		v, ok := have[p.name]
		if !ok && !p.required {
			continue
		}
		if !ok {
			v = example(p)
		}
		args = append(args, compact(p.name)+": "+compact(v))
	}
	return "call " + t.Name + " {" + strings.Join(args, ", ") + "}"
}

func example(p param) any {
	switch {
	case p.preset != nil:
		return p.preset
	case len(p.enum) > 0:
		return p.enum[0]
	}
	switch p.kind {
	case "number", "integer":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{example(param{kind: p.items})}
	case "object":
		return map[string]any{}
	}
	return "…"
}

// sayResults tells what the tools said.
func sayResults(all []outcome) string {
	parts := make([]string, 0, len(all))
	for _, o := range all {
		text := sayResult(o)
		if len(all) > 1 && o.call.Name != "" {
			text = "**" + o.call.Name + "**\n\n" + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

func sayResult(o outcome) string {
	text := strings.TrimSpace(strings.Join(append([]string{o.result.Text}, blocks(o.result.Blocks)...), "\n"))
	what := "The tool"
	if o.call.Name != "" {
		what = "`" + o.call.Name + "`"
	}
	switch {
	case o.result.IsError && text == "":
		return what + " failed and did not say why."
	case o.result.IsError:
		return what + " could not do it:\n\n" + fence(text)
	case text == "":
		return what + " is done. It had nothing to say."
	}
	return fence(text)
}

// blocks are what a tool returned beside its text, in words.
func blocks(all []ports.Block) []string {
	var out []string
	for _, b := range all {
		switch {
		case b.Kind == ports.BlockLink:
			out = append(out, strings.TrimSpace(b.Name+" "+b.URI))
		case b.Text != "":
			out = append(out, b.Text)
		default:
			out = append(out, fmt.Sprintf("(%s, %s, %d bytes: I cannot look at it)", b.Kind, b.MIME, len(b.Data)))
		}
	}
	return out
}

var markdown = regexp.MustCompile("(?m)^(#{1,6} |[-*+] |\\d+\\. |> |```|~~~|\\|.*\\|\\s*$)|\\*\\*[^*\\s][^*\n]*\\*\\*|\\[[^]\n]+\\]\\([^)\\s]+\\)")

// fence shows a text as it is: JSON and plain lines in a fence, Markdown and
// single lines without.
func fence(text string) string {
	var pretty any
	if strings.ContainsAny(text[:1], "{[") && json.Unmarshal([]byte(text), &pretty) == nil {
		return fenced("json", text)
	}
	if !strings.Contains(text, "\n") || markdown.MatchString(text) {
		return text
	}
	return fenced("", text)
}

func fenced(language, text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + language + "\n" + text + "\n" + marks
}

func names(tools []tool) string {
	var all []string
	for _, t := range tools {
		all = append(all, "`"+t.Name+"`")
	}
	if n := len(all); n > 1 {
		return strings.Join(all[:n-1], ", ") + " or " + all[n-1]
	}
	return strings.Join(all, "")
}

// firstSentence is a tool's description in short, else its title.
func firstSentence(t ports.ToolSpec) string {
	text := oneLine(t.Description)
	if text == "" {
		text = oneLine(t.Title)
	}
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	return shorten(text, 160)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// plain makes a person's or a parser's words fit between backticks.
func plain(text string) string {
	return shorten(oneLine(strings.ReplaceAll(text, "`", "'")), 80)
}

func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:most-1])) + "…"
}

func compact(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "…"
	}
	return strings.TrimSpace(b.String())
}

func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
