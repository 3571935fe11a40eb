package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

const maxRequest = 64 << 20

// Request is what a client asked, as far as an answer may depend on it.
type Request struct {
	Model    string
	Messages []Message
	Tools    []string // the names of those offered
	Offered  string   // their definitions, as they came
	Stream   bool
	Usage    bool // the stream is to end with the tokens used
}

// Message is one of a conversation. Parts of a text are joined; other parts but
// pictures and sounds are left out.
type Message struct {
	Role   string
	Text   string
	Images []string // the URLs of pictures, in order
	Sounds []string // recordings, as FORMAT:BASE64
	Calls  []string // ids of the calls that an assistant made
	Answer string   // id of the call that a tool's result answers
}

// Last is the newest message.
func (r Request) Last() Message { return r.Messages[len(r.Messages)-1] }

// Said is the newest message of the user.
func (r Request) Said() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return m.Text
		}
	}
	return ""
}

func read(w http.ResponseWriter, r *http.Request) (Request, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return Request{}, errors.New("the request cannot be read")
	}
	var wire struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role      string
			Content   json.RawMessage
			ToolCalls []struct{ ID string } `json:"tool_calls"`
			Answers   string                `json:"tool_call_id"`
		}
		Tools         json.RawMessage
		StreamOptions struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("the request is not JSON as it should be: %w", err)
	}
	req := Request{Model: wire.Model, Stream: wire.Stream, Usage: wire.StreamOptions.Usage, Offered: string(wire.Tools)}
	var tools []struct {
		Function struct{ Name string }
	}
	if len(wire.Tools) > 0 {
		if err := json.Unmarshal(wire.Tools, &tools); err != nil {
			return Request{}, fmt.Errorf("the tools are not as they should be: %w", err)
		}
	}
	for _, t := range tools {
		req.Tools = append(req.Tools, t.Function.Name)
	}
	for i, m := range wire.Messages {
		said := Message{Role: m.Role, Answer: m.Answers}
		if err := said.read(m.Content); err != nil {
			return Request{}, fmt.Errorf("message %d: %w", i, err)
		}
		for _, c := range m.ToolCalls {
			said.Calls = append(said.Calls, c.ID)
		}
		req.Messages = append(req.Messages, said)
	}
	return req, req.check()
}

// read reads a content, which is a string, parts, or nothing.
func (m *Message) read(content json.RawMessage) error {
	if len(content) == 0 || content[0] == 'n' {
		return nil
	}
	if content[0] == '"' {
		return json.Unmarshal(content, &m.Text)
	}
	var parts []struct {
		Text  string
		Image *struct{ URL string }          `json:"image_url"`
		Sound *struct{ Format, Data string } `json:"input_audio"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return errors.New("content is neither a string nor parts")
	}
	var all strings.Builder
	for _, p := range parts {
		all.WriteString(p.Text)
		if p.Image != nil {
			m.Images = append(m.Images, p.Image.URL)
		}
		if p.Sound != nil {
			m.Sounds = append(m.Sounds, p.Sound.Format+":"+p.Sound.Data)
		}
	}
	m.Text = all.String()
	return nil
}

// check holds a conversation to its order.
func (r Request) check() error {
	if r.Model == "" {
		return errors.New("no model is named")
	}
	if len(r.Messages) == 0 {
		return errors.New("there are no messages")
	}
	var open []string // calls without a result
	for i, m := range r.Messages {
		at := slices.Index(open, m.Answer)
		switch {
		case !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, m.Role):
			return fmt.Errorf("message %d has the role %q", i, m.Role)
		case m.Role == "tool" && at < 0:
			return fmt.Errorf("message %d answers the call %q, which was not made right before", i, m.Answer)
		case m.Role == "tool":
			open = slices.Delete(open, at, at+1)
		case len(open) > 0:
			return fmt.Errorf("message %d comes before the result of the call %q", i, open[0])
		default:
			open = slices.Clone(m.Calls)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("the call %q has no result", open[0])
	}
	return nil
}
