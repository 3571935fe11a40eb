// Package ask words the questions that a turn puts to its person and matches
// what comes back: a press of a button, a typed answer, another message
// instead. Questions are rows of the store; nothing waits in memory.
//
// Matching is pure: the store calls it inside the receive commit with the
// question under lock, so that an answer, a newer message and an expiry race for
// one row and one of them wins.
package ask

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"dragoman/ports"
)

// argumentsShown caps how much of a call's arguments a question shows, in bytes.
const argumentsShown = 1500

// OnMessage is what another message means while a question is open.
type OnMessage string

const (
	Supersede OnMessage = "supersede" // the question ends as not answered, the message joins the turn
	Wait      OnMessage = "wait"      // the message waits for the question
)

// Config of the questions.
type Config struct {
	Expires   time.Duration // how long a question stays open
	OnMessage OnMessage
	GroupWait time.Duration // how long another person's message in a group waits for one
}

// Asker words and matches questions. Safe for many goroutines.
type Asker struct{ cfg Config }

// New makes an Asker.
func New(cfg Config) *Asker { return &Asker{cfg: cfg} }

// Current reports whether q is the question that the turn asked when its journal
// had steps rows: an answer counts only as long as nothing was recorded since it
// was asked.
func (a *Asker) Current(q ports.Question, steps int) bool {
	return q.Steps == steps || q.ID == short(q.Turn, strconv.Itoa(steps)) // as questions were named before they had Steps
}

// Approval asks whether a call may run.
func (a *Asker) Approval(about ports.About) (ports.Question, ports.Content) {
	text := fmt.Sprintf("May I run **%s**?\n\n```json\n%s\n```", about.Tool.Name, pretty(about.Tool.Arguments))
	return a.question(about, ports.QuestionApproval, text, ports.AnswerYes, "Yes, run it", ports.AnswerNo, "No")
}

// Unknown asks what to do about a call that began and whose outcome nobody knows.
func (a *Asker) Unknown(about ports.About) (ports.Question, ports.Content) {
	text := fmt.Sprintf("I was interrupted while **%s** was running, and I do not know whether it had its effect.\n\n```json\n%s\n```\nShall I run it again?",
		about.Tool.Name, pretty(about.Tool.Arguments))
	return a.question(about, ports.QuestionUnknown, text, ports.AnswerAgain, "Run it again", ports.AnswerSkip, "Skip it", ports.AnswerStop, "Stop")
}

// Stale asks whether what the person wrote long ago is still wanted.
func (a *Asker) Stale(about ports.About) (ports.Question, ports.Content) {
	text := fmt.Sprintf("You wrote this %s, and I come to it only now:\n\n%s\n\nDo you still want it?", ago(time.Since(about.At)), quote(about.Said))
	return a.question(about, ports.QuestionStale, text, ports.AnswerYes, "Yes, do it", ports.AnswerNo, "No, leave it")
}

// Settled takes the buttons off the prompt of a question that is settled and
// says how it ended: droppable, as an edit of the prompt.
func (a *Asker) Settled(q ports.Question, render func(ports.Conversation, ports.Content) []ports.Content) []ports.Delivery {
	parts := render(q.In, settled(q))
	if q.Prompt == "" || len(parts) != 1 {
		return nil
	}
	id := q.Prompt + "/settled"
	return []ports.Delivery{{ID: id, Edits: q.Prompt, Optional: true,
		Out: ports.Outgoing{In: q.In, Content: parts[0], Nonce: id, Reply: q.Reply}}}
}

func settled(q ports.Question) ports.Content {
	note := map[ports.QuestionState]string{
		ports.QuestionSuperseded: "Not answered: you wrote something else.",
		ports.QuestionExpired:    "Not answered in time.",
		ports.QuestionStopped:    "Stopped.",
	}[q.State]
	if q.Kind == ports.QuestionRedo {
		note = map[ports.QuestionState]string{
			ports.QuestionSuperseded: "I ask it again below.",
			ports.QuestionStopped:    "The message is deleted.",
		}[q.State]
	}
	for _, c := range q.Fields[0].Choices {
		if q.State == ports.QuestionAnswered && c.Value == q.Answers[ports.AnswerField] {
			note = "You said: " + c.Label
		}
	}
	return ports.Content{Text: q.Text + "\n\n*" + note + "*"}
}

// visible writes out characters that are not seen or that turn the text around,
// so that what is approved looks like what it is.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			fmt.Fprintf(&b, "\\u%04X", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (a *Asker) question(about ports.About, kind ports.QuestionKind, text string, choices ...string) (ports.Question, ports.Content) {
	q := ports.Question{ID: questionID(kind, about), Turn: about.Turn, In: about.In, Person: about.Person, Kind: kind,
		Step: about.Step, Call: about.Call, Steps: about.Steps, Text: text, State: ports.QuestionOpen, Asked: time.Now(), Expires: time.Now().Add(a.cfg.Expires), GroupWait: a.cfg.GroupWait, Reply: about.Reply}
	field := ports.Field{Name: ports.AnswerField, Required: true}
	for i := 0; i < len(choices); i += 2 {
		field.Choices = append(field.Choices, ports.Choice{Question: q.ID, Field: ports.AnswerField, Value: choices[i], Label: choices[i+1]})
	}
	q.Fields = []ports.Field{field}
	return q, ports.Content{Text: text, Choices: field.Choices}
}

// questionID is the same for a question that is asked again after a crash. What it
// asks is a part of it: after a restore of old data a turn may have the name of
// one that was lost, whose buttons must not answer this.
func questionID(kind ports.QuestionKind, about ports.About) string {
	return short(about.Turn, strconv.Itoa(about.Steps), strconv.Itoa(about.Taken), string(kind), about.Tool.Name, string(about.Tool.Arguments), about.Said)
}

func short(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// pretty shows arguments for people, in a fence that they cannot break out of.
func pretty(args json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, args, "", "  ") != nil {
		b.Reset()
		b.Write(args)
	}
	text := visible(strings.ReplaceAll(b.String(), "```", "'''"))
	if len(text) > argumentsShown {
		text = strings.ToValidUTF8(text[:argumentsShown], "") + fmt.Sprintf("\n… (%d bytes more)", len(text)-argumentsShown)
	}
	return text
}

// quote shows what a person wrote, as a quotation.
func quote(said string) string {
	said = strings.TrimSpace(said)
	if said == "" {
		return "> *(something without text)*"
	}
	if len(said) > argumentsShown {
		said = strings.ToValidUTF8(said[:argumentsShown], "") + "…"
	}
	return "> " + strings.ReplaceAll(asTyped.Replace(visible(said)), "\n", "\n> ")
}

// asTyped keeps what a person typed from being read as Markdown.
var asTyped = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "#", `\#`, "|", `\|`, "~", `\~`)

// ago says how long ago something was, in the largest unit that it fills.
func ago(d time.Duration) string {
	if d < time.Minute {
		return "a moment ago"
	}
	n, unit := int(d.Minutes()), "minute"
	switch {
	case d >= 48*time.Hour:
		n, unit = int(d.Hours()/24), "day"
	case d >= 2*time.Hour:
		n, unit = int(d.Hours()), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s ago", n, unit)
}
