package channeltest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"dragoman/ports"
)

// memory is a platform in memory with all that the kit can ask of one. bug is
// what its channel does wrong, lack what the two of them do not have.
type memory struct {
	bug, lack string

	mu     sync.Mutex
	events []event // not acknowledged yet
	last   int     // id of the newest event
	wake   chan struct{}
	chats  map[string]*room
	posted map[string]ports.MessageID // by nonce
	files  map[string][]byte
	faults map[Call]*broken
	closed bool
}

// everything is all that a platform or a channel may lack.
const everything = "everything"

type event struct {
	id      int
	noise   bool
	message ports.Message
}

type room struct {
	shown  []*post
	files  []ShownFile
	typing bool
}

type post struct {
	id      ports.MessageID
	text    string
	choices []ports.Choice
}

type broken struct {
	fault Fault
	times int
}

const memoryToken = "memory-token"

func newMemory(bug, lack string) Platform {
	p := &memory{
		bug: bug, lack: lack, wake: make(chan struct{}), chats: map[string]*room{},
		posted: map[string]ports.MessageID{}, files: map[string][]byte{}, faults: map[Call]*broken{},
	}
	switch lack {
	case "groups":
		return struct {
			Platform
			Noiser
		}{p, p}
	case "noise":
		return struct {
			Platform
			Grouper
		}{p, p}
	case everything:
		return struct{ Platform }{p}
	}
	return p
}

func (p *memory) lacks(what string) bool { return p.lack == what || p.lack == everything }

func (p *memory) Facts() Facts {
	f := Facts{DropsDoubles: !p.lacks("nonce")}
	if !p.lacks("secrets") {
		f.Secrets = []string{memoryToken}
	}
	return f
}

func (p *memory) Channel(log *slog.Logger) (ports.ChannelPort, error) {
	c := &channel{platform: p, bug: p.bug, log: log}
	if c.has("paces edits that it cannot make") {
		return c.without("Editor"), nil
	}
	return c.without(p.lack), nil
}

func (p *memory) Person(name string) (Person, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := fmt.Sprint("person-", len(p.chats))
	p.chats[id] = &room{}
	m := &member{p, id, name}
	switch p.lack {
	case "deletes":
		return struct {
			Person
			Watcher
			Attacher
			Viewer
		}{m, m, m, m}, nil
	case "files":
		return struct {
			Person
			Deleter
			Watcher
		}{m, m, m}, nil
	case everything:
		return struct{ Person }{m}, nil
	}
	return m, nil
}

func (p *memory) Break(call Call, f Fault, times int) bool {
	if p.lacks("faults") {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[call] = &broken{f, times}
	return true
}

func (p *memory) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

func (p *memory) Noise() error {
	p.push(event{noise: true})
	return nil
}

func (p *memory) Group(name string, _ ...Person) (Group, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chats["group-"+name] = &room{}
	return &crowd{p, "group-" + name}, nil
}

// push delivers an event.
func (p *memory) push(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	e.id = p.last
	if e.message.Event == "" {
		e.message.Event = fmt.Sprint("e", e.id)
	}
	if e.message.ID == "" {
		e.message.ID = ports.MessageID(fmt.Sprint("in-", e.id))
	}
	p.events = append(p.events, e)
	close(p.wake)
	p.wake = make(chan struct{})
}

// fetch waits for events after an id; all up to it are forgotten.
func (p *memory) fetch(ctx context.Context, after int) ([]event, error) {
	for {
		p.mu.Lock()
		if err := p.fault(CallReceive); err != nil {
			p.mu.Unlock()
			return nil, err
		}
		p.events = slices.DeleteFunc(p.events, func(e event) bool { return e.id <= after })
		events, wake := slices.Clone(p.events), p.wake
		p.mu.Unlock()
		if len(events) > 0 {
			return events, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// forget is the acknowledgement of all events up to an id.
func (p *memory) forget(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = slices.DeleteFunc(p.events, func(e event) bool { return e.id <= id })
}

// refusal is how the platform says no.
type refusal struct{ fault Fault }

func (r refusal) Error() string { return "the platform says " + string(r.fault) }

// fault is what the next call of a kind meets. p.mu is held.
func (p *memory) fault(call Call) error {
	b := p.faults[call]
	if p.closed {
		return refusal{FaultOutage}
	}
	if b == nil || b.times == 0 {
		return nil
	}
	b.times--
	return refusal{b.fault}
}

// post shows a message and returns its id.
func (p *memory) post(chat, nonce, text string, choices []ports.Choice) (ports.MessageID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.fault(CallSend)
	if err != nil && err != error(refusal{FaultCut}) {
		return "", err
	}
	if id, ok := p.posted[nonce]; ok && nonce != "" {
		return id, err
	}
	r := p.chats[chat]
	if r == nil {
		return "", refusal{FaultGone}
	}
	id := ports.MessageID(fmt.Sprintf("%s#%d", chat, len(r.shown)))
	p.posted[nonce] = id
	r.shown = append(r.shown, &post{id, text, choices})
	return id, err
}

// change edits a message.
func (p *memory) change(id ports.MessageID, text string, choices []ports.Choice) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.chats {
		for _, m := range r.shown {
			if m.id == id {
				m.text, m.choices = text, choices
				return nil
			}
		}
	}
	return refusal{FaultGone}
}

type member struct {
	p        *memory
	id, name string
}

func (m *member) ID() string { return m.id }

func (m *member) Say(text string) error {
	m.p.push(event{message: ports.Message{
		In: ports.Conversation{Chat: m.id}, Private: true, From: m.id, Name: m.name, Text: text,
	}})
	return nil
}

func (m *member) Press(label string) error {
	m.p.mu.Lock()
	var found *ports.Message
	for _, shown := range m.p.chats[m.id].shown {
		for _, c := range shown.choices {
			if c.Label == label {
				c.Label = ""
				found = &ports.Message{ID: shown.id, In: ports.Conversation{Chat: m.id}, Private: true, From: m.id, Choice: &c}
			}
		}
	}
	m.p.mu.Unlock()
	if found == nil {
		return errors.New("no such button")
	}
	if m.p.bug == "hears no press" {
		return nil
	}
	m.p.push(event{message: *found})
	return nil
}

func (m *member) Shows() ([]Shown, error) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	var out []Shown
	for _, shown := range m.p.chats[m.id].shown {
		var labels []string
		for _, c := range shown.choices {
			labels = append(labels, c.Label)
		}
		out = append(out, Shown{shown.text, labels})
	}
	return out, nil
}

func (m *member) Attach(name string, data []byte) error {
	m.p.mu.Lock()
	id := fmt.Sprint("file-", len(m.p.files))
	m.p.files[id] = data
	m.p.mu.Unlock()
	m.p.push(event{message: ports.Message{
		In: ports.Conversation{Chat: m.id}, Private: true, From: m.id, Name: m.name,
		Attachments: []ports.Attachment{{ID: id, Name: name, Size: int64(len(data))}},
	}})
	return nil
}

func (m *member) Files() ([]ShownFile, error) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	return m.p.chats[m.id].files, nil
}

func (m *member) DeleteAll() error {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	m.p.chats[m.id].shown = nil
	return nil
}

func (m *member) SeesTyping() bool {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	return m.p.chats[m.id].typing
}

type crowd struct {
	p  *memory
	id string
}

func (c *crowd) Say(p Person, text string) error {
	c.p.push(event{message: ports.Message{
		In: ports.Conversation{Chat: c.id}, From: p.ID(), Text: text, Addressed: strings.HasPrefix(text, "@bot"),
	}})
	return nil
}

func (c *crowd) Mention(p Person, text string) error { return c.Say(p, "@bot "+text) }
