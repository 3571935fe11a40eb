package gateway_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// batch delivers messages as one poll of the platform that found several does. It
// returns them as they were delivered.
func (c *chat) batch(t *testing.T, list ...ports.Message) []ports.Message {
	t.Helper()
	list = slices.Clone(list)
	c.mu.Lock()
	for i := range list {
		c.event++
		m := &list[i]
		if m.Event == "" {
			m.Event = "batch-" + strconv.Itoa(c.event)
		}
		m.Addressed = true
		m.ID = cmp.Or(m.ID, ports.MessageID("in-"+m.Event))
		if m.In.Chat == "" {
			m.In.Chat = m.From
		}
	}
	in := c.in
	c.mu.Unlock()
	if err := in.Receive(t.Context(), ports.Batch{Messages: list, Cursor: list[len(list)-1].Event}); err != nil {
		t.Errorf("Receive: %v", err)
	}
	return list
}

// said is a message of a private chat.
func said(from, text string) ports.Message {
	return ports.Message{From: from, Name: from, Text: text, Private: true}
}

// pressed is a press of the button with this value.
func (p post) pressed(from, value string) ports.Message {
	m := ports.Message{From: from, Name: from, Private: true, In: ports.Conversation{Chat: p.out.In.Chat}}
	for _, ch := range p.out.Content.Choices {
		if ch.Value == value {
			m.Choice = &ports.Choice{Question: ch.Question, Field: ch.Field, Value: value}
		}
	}
	return m
}

// asking waits until the chat's last message has buttons, and returns it.
func (w *world) asking() post {
	w.t.Helper()
	var p post
	eventually(w.t, "a question in the chat", func() bool {
		n := len(w.chat.texts())
		if n == 0 {
			return false
		}
		p = w.chat.post(n - 1)
		return len(p.out.Content.Choices) > 0
	})
	return p
}

// byTheirWord is byWord in a group, where the model is told who speaks.
func byTheirWord(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
	r.Entries = slices.Clone(r.Entries)
	last := &r.Entries[len(r.Entries)-1]
	if _, text, ok := strings.Cut(last.Text, ": "); ok && last.Role == ports.RoleUser {
		last.Text = text
	}
	return byWord(ctx, r)
}

// rounds is a model that calls these tools in one round after another, and then
// says what came of all of them.
func rounds(list ...[]string) func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return func(_ context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		n := 0
		var results []string
		for _, e := range r.Entries {
			switch {
			case e.Role == ports.RoleAssistant && len(e.Calls) > 0:
				n++
			case e.Role == ports.RoleTool:
				results = append(results, e.Text)
			}
		}
		if n >= len(list) {
			return says(strings.Join(results, "\n"))
		}
		reply := ports.ModelReply{Text: "Let me see.", Model: "m", Stop: ports.StopCalls}
		for i, name := range list[n] {
			reply.Calls = append(reply.Calls, ports.Call{ID: fmt.Sprintf("r%dc%d", n, i), Name: name, Arguments: json.RawMessage(`{"n":` + strconv.Itoa(i) + `}`)})
		}
		return reply, nil
	}
}

// script is a store that writes down what each commit of a turn adds, and lets
// the test look at the rows after each commit.
type script struct {
	gateway.Store
	after func(verb string) // may be nil

	mu    sync.Mutex
	lines []string
}

func (s *script) wrote(err error, verb string, c ports.Change) error {
	if err != nil {
		return err
	}
	line := verb
	for _, st := range c.Steps {
		line += " " + string(st.Kind)
		if st.Kind == ports.StepStart || st.Kind == ports.StepResult {
			line += strconv.Itoa(st.Call)
		}
	}
	s.mu.Lock()
	s.lines = append(s.lines, line)
	s.mu.Unlock()
	if s.after != nil {
		s.after(line)
	}
	return nil
}

// commits are the commits so far, one a line.
func (s *script) commits() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

func (s *script) Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error) {
	got, err := s.Store.Accept(ctx, src, b, route)
	return got, s.wrote(err, "accept", ports.Change{})
}

func (s *script) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	return s.wrote(s.Store.Record(ctx, l, c), "record", c)
}

func (s *script) Park(ctx context.Context, l ports.Lease, c ports.Change) error {
	return s.wrote(s.Store.Park(ctx, l, c), "park", c)
}

func (s *script) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	return s.wrote(s.Store.Finish(ctx, l, c, o), "finish", c)
}

func (s *script) Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error {
	verb := "delivered"
	if strings.HasSuffix(id, "/preview") {
		verb = "delivered preview"
	}
	return s.wrote(s.Store.Delivered(ctx, l, id, r), verb, ports.Change{})
}

func (s *script) Expire(ctx context.Context, limit int) (ports.Accepted, error) {
	got, err := s.Store.Expire(ctx, limit)
	if err == nil && len(got.Leases) > 0 {
		return got, s.wrote(nil, "expire", ports.Change{})
	}
	return got, err
}

// reader is a connection of the test's own to the store's file, for many looks.
func (w *world) reader() *sql.DB {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "dragoman.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close() })
	return db
}

// column is the first column of a query's rows.
func (w *world) column(q string) (list []string) {
	w.t.Helper()
	w.query(q, func(scan func(...any) error) error {
		var s string
		err := scan(&s)
		list = append(list, s)
		return err
	})
	return list
}

// sound looks at the rows when all is done: each of these numbers is 0 in a store
// in which nothing was lost or done twice.
func (w *world) sound(messages int) {
	w.t.Helper()
	for what, q := range map[string]string{
		"messages of no turn, or of one that is not there": `SELECT COUNT(*) FROM inbox i LEFT JOIN turn t ON t.id = i.turn WHERE t.id IS NULL`,
		"turns without an outcome":                         `SELECT COUNT(*) FROM turn WHERE outcome = '' OR state <> 'done'`,
		"lane turns without one final step": `SELECT COUNT(*) FROM turn t WHERE EXISTS (SELECT 1 FROM inbox WHERE turn = t.id AND route <> 'reply')
			AND (SELECT COUNT(*) FROM step WHERE turn = t.id AND kind = 'final') <> 1`,
		"turns whose end nobody was told": `SELECT COUNT(*) FROM turn t WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE turn = t.id AND question = '' AND optional = 0 AND state = 'sent')
			AND EXISTS (SELECT 1 FROM inbox WHERE turn = t.id AND body ->> '$.change' IS NULL)`, // of a change its message tells
		"calls without one result": `SELECT COUNT(*) FROM step s, json_each(s.body, '$.calls') c WHERE s.kind = 'reply' AND
			(SELECT COUNT(*) FROM step r WHERE r.turn = s.turn AND r.kind = 'result' AND r.call = c.key AND r.idx > s.idx
				AND r.idx < COALESCE((SELECT MIN(n.idx) FROM step n WHERE n.turn = s.turn AND n.kind = 'reply' AND n.idx > s.idx), 1000000)) <> 1`,
		"replies that are not booked once": `SELECT COUNT(*) FROM step s WHERE kind = 'reply' AND (SELECT COUNT(*) FROM usage u WHERE u.turn = s.turn AND u.step = s.idx) <> 1
			AND NOT EXISTS (SELECT 1 FROM inbox WHERE turn = s.turn AND changed > 0 AND s.idx = 0)`, // the model may have been asked with other words before
		// What broke off was paid for as well.
		"bookings of no reply, in turns that were answered": `SELECT COUNT(*) FROM usage u JOIN turn t ON t.id = u.turn WHERE t.outcome = 'answered'
			AND NOT EXISTS (SELECT 1 FROM step s WHERE s.turn = u.turn AND s.idx = u.step AND s.kind IN ('reply', 'memo'))`,
		"open questions":                    `SELECT COUNT(*) FROM question WHERE state = 'open'`,
		"conversations that are still held": `SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL`,
	} {
		if n := w.count(q); n != 0 {
			w.t.Errorf("%d %s", n, what)
		}
	}
	if n := w.count(`SELECT COUNT(*) FROM inbox`); n != messages {
		w.t.Errorf("%d messages are stored, want %d", n, messages)
	}
	if w.t.Failed() {
		w.t.Logf("the chat shows %q\n%s", w.chat.texts(), w.rows())
	}
}

// comesToRest waits until no row asks for anything more.
func (w *world) comesToRest() {
	w.t.Helper()
	eventually(w.t, "nothing is left to do", w.over)
}

// oneModel is the agent of a world whose model is this one.
func oneModel(m ports.ModelPort) gateway.Agent {
	return gateway.Agent{Config: agent.Config{Models: []agent.Model{{Port: m}}}}
}
