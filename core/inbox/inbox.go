// Package inbox takes messages in and gives conversations their turns.
//
// Receive admits each message, then stores the batch and decides where each one
// goes in a single commit: a press, a command, an answer to an open question, or
// the conversation's lane. A lane is one goroutine per conversation that has
// work, gone when there is none; a semaphore bounds how many turns run at once.
//
// Promises: an error from Receive means that nothing was stored. Each
// conversation runs one turn at a time; a slow or stuck one holds up no other.
package inbox

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// Store is the slice of the store that the inbox uses.
type Store interface {
	Cursor(ctx context.Context, channel string) (string, error)
	Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error)
	Claim(ctx context.Context, limit int) ([]ports.Lease, error)
	Load(ctx context.Context, l ports.Lease) (ports.Work, error)
	Trial(ctx context.Context, l ports.Lease, alone bool) error
	Expire(ctx context.Context, limit int) (ports.Accepted, error)
}

// Verdict is what access says of a message's sender. With Drop set the message
// is not accepted; Refusal, if any, is posted.
type Verdict struct {
	Person  ports.PersonID
	Role    ports.Role
	Drop    bool
	Refusal []ports.Delivery
	Welcome bool   // this message let its sender in: it is greeted, and is for nobody else
	Undo    func() // takes back what the admission counted, when the commit failed; may be nil
	Answer  Answer // of a command, prepared; nil: the message is none that is answered at receipt
}

// Answer says what a command is answered with, by what the commit sees of its
// conversation. It must be pure: it runs inside the commit.
type Answer func(s ports.Sight) string

// Parts are what the inbox is introduced to.
type Parts struct {
	// Admit decides on a message before it is stored. It may read and write.
	Admit func(ctx context.Context, m ports.Message) (Verdict, error)
	// Known reports whether a message's sender is let in, and does nothing else.
	Known func(ctx context.Context, m ports.Message) (bool, error)
	// Command prepares the answer of a command, or of a message that let its sender
	// in, before it is stored; nil: it is a message as any other. It may read and
	// write, and it is called again for a message that comes again. Its error is told
	// plainly: what waits behind the command does not wait for it.
	Command func(ctx context.Context, m ports.Message, v Verdict) (Answer, error)
	// Match routes an admitted message. Pure: it runs inside the commit.
	Match func(s ports.Sight, v Verdict) ports.Route
	// Turn works on what the lane holds until the turn is over or parked. news
	// tells that rows came in meanwhile.
	Turn func(ctx context.Context, l ports.Lease, w ports.Work, news <-chan struct{}) error
	// Hold is how long the turn that would begin now, or that goes on because its person
	// wrote instead of answering, is to wait for more messages first; 0 or less: not at all. It is asked again when it is over, and when there is
	// news. nil = no turn waits.
	Hold func(ctx context.Context, in ports.Conversation, w ports.Work) time.Duration
	// Received hears how many messages of a channel were stored. It returns at once.
	Received func(channel string, n int)
	// Heard is told of each stored message whose person cannot know yet that it was
	// heard: one behind a turn at work, and one in a group. It returns at once. nil = nobody is.
	Heard func(m ports.Message)
	// Flush wakes the outbox for a conversation.
	Flush func(l ports.Lease)
	// Commands are those that people can type.
	Commands []ports.Command
}

// Inbox receives and runs lanes. Make it with New.
type Inbox struct {
	store Store
	parts Parts
	leaks *guard.Leaks
	log   *slog.Logger
	slots chan struct{}
	court court

	ctx    context.Context // of the turns
	cancel context.CancelFunc
	work   sync.WaitGroup
	mu     sync.Mutex
	lanes  map[ports.Conversation]*lane
	closed chan struct{} // closed: no turn starts any more
}

// claimLimit is how many conversations one sweep takes.
const claimLimit = 256

// New makes an inbox that runs at most turns turns at once. They end with ctx.
func New(ctx context.Context, store Store, parts Parts, turns int, leaks *guard.Leaks, log *slog.Logger) *Inbox {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Inbox{store: store, parts: parts, leaks: leaks, log: log, slots: make(chan struct{}, max(1, turns)),
		court: court{opens: time.Now().Add(sits)}, ctx: ctx, cancel: func() { cancel(ports.ErrLeaving) }, lanes: map[ports.Conversation]*lane{}, closed: make(chan struct{})}
}

// Receiver is what the channel of this name delivers into. epoch gives the epoch
// of the channel's lease, 0 if it has none; report hears how receiving goes.
func (x *Inbox) Receiver(channel string, epoch func() int64, report func(error)) ports.Receiver {
	return &receiver{inbox: x, channel: channel, epoch: epoch, report: report}
}

// Post stores deliveries for a conversation that no message asked for, under a
// unique event.
func (x *Inbox) Post(ctx context.Context, in ports.Conversation, event string, list []ports.Delivery) error {
	m := ports.Message{Event: event, In: in}
	return x.accept(ctx, ports.Source{Channel: in.Channel}, ports.Batch{Messages: []ports.Message{m}},
		func(ports.Sight) ports.Route { return ports.Route{Drop: true, Deliveries: list} })
}

// Sweep claims conversations that have work and no owner, and expires
// questions, until there is nothing left to take.
func (x *Inbox) Sweep(ctx context.Context) error {
	// What a call gives this process it must hear, also when it comes too late for
	// who waited: nobody else is told. So each wakes by itself.
	_, err := guard.Read(ctx, x.leaks, "store_expire", func(ctx context.Context) (ports.Accepted, error) {
		expired, err := x.store.Expire(ctx, claimLimit)
		x.wake(expired.Leases, true)
		return expired, err
	})
	if err != nil {
		return err
	}
	for {
		leases, err := guard.Read(ctx, x.leaks, "store_claim", func(ctx context.Context) ([]ports.Lease, error) {
			leases, err := x.store.Claim(ctx, claimLimit)
			x.wake(leases, true)
			return leases, err
		})
		if err != nil {
			return err
		}
		if len(leases) < claimLimit {
			return nil
		}
	}
}

// Close starts no more turns, waits for the running ones until ctx ends, then
// makes them leave: the journal has the rest. Call it once.
func (x *Inbox) Close(ctx context.Context) {
	x.mu.Lock()
	close(x.closed)
	x.mu.Unlock()
	done := make(chan struct{})
	go func() { x.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	x.cancel()
	<-done
}

// Busy counts the conversations that have a lane now.
func (x *Inbox) Busy() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.lanes)
}

type receiver struct {
	inbox   *Inbox
	channel string
	epoch   func() int64
	report  func(error)
}

var (
	_ ports.Receiver = (*receiver)(nil)
	_ ports.Knower   = (*receiver)(nil)
	_ ports.Reporter = (*receiver)(nil)
	_ ports.Menu     = (*receiver)(nil)
)

// Report passes on how receiving goes. See ports.Reporter.
func (r *receiver) Report(err error) { r.report(err) }

// Commands are those that people can type. See ports.Menu.
func (r *receiver) Commands() []ports.Command { return r.inbox.parts.Commands }

// Known asks access. See ports.Knower.
func (r *receiver) Known(ctx context.Context, m ports.Message) (bool, error) {
	m.In.Channel = r.channel
	return r.inbox.parts.Known(ctx, m)
}

func (r *receiver) Cursor(ctx context.Context) (string, error) {
	x := r.inbox
	return guard.Read(ctx, x.leaks, "store_cursor", func(ctx context.Context) (string, error) { return x.store.Cursor(ctx, r.channel) })
}

// Receive admits, stores and wakes. See ports.Receiver.
func (r *receiver) Receive(ctx context.Context, b ports.Batch) (err error) {
	verdicts := make(map[string]Verdict, len(b.Messages))
	defer func() {
		if err == nil {
			return
		}
		for _, v := range verdicts {
			if v.Undo != nil {
				v.Undo()
			}
		}
	}()
	kept := make([]ports.Message, 0, len(b.Messages))
	for _, m := range b.Messages {
		m.In.Channel = r.channel
		if m.Event == "" || m.From == "" && m.Change != ports.ChangeDelete || m.In.Chat == "" || m.Change != "" && m.ID == "" {
			r.inbox.log.Warn("message_without_sender_dropped", "channel", r.channel, "chat", m.In.Chat)
			continue
		}
		if _, twice := verdicts[m.Event]; twice {
			continue
		}
		if stopPressed(m) {
			m.Text = "/stop" // in the history it is as if written
		}
		v, err := r.inbox.admit(ctx, m)
		if err != nil {
			return err
		}
		verdicts[m.Event] = v // also where the rest fails: for its Undo
		if v.Answer, err = r.inbox.command(ctx, m, v); err != nil {
			return err
		}
		verdicts[m.Event] = v
		kept = append(kept, m)
	}
	b.Messages = kept
	return r.inbox.accept(ctx, ports.Source{Channel: r.channel, Epoch: r.epoch()}, b, func(s ports.Sight) ports.Route {
		v := verdicts[s.Message.Event]
		if v.Drop {
			return ports.Route{Drop: true, Deliveries: v.Refusal}
		}
		return r.inbox.parts.Match(s, v)
	})
}

func (x *Inbox) admit(ctx context.Context, m ports.Message) (Verdict, error) {
	if m.Change != "" {
		return x.admitChange(ctx, m)
	}
	return guard.Read(ctx, x.leaks, "admit", func(ctx context.Context) (Verdict, error) { return x.parts.Admit(ctx, m) })
}

func (x *Inbox) accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) error {
	began, atWork := time.Now(), x.atWork(b.Messages)
	got, err := guard.Read(ctx, x.leaks, "store_accept", func(ctx context.Context) (ports.Accepted, error) {
		unseen := map[string]ports.Message{} // by event: a commit may be made anew
		got, err := x.store.Accept(ctx, src, b, func(s ports.Sight) ports.Route {
			r := route(s)
			if r.Kind == ports.RouteLane && !r.Drop && (atWork[s.Message.In] || !s.Message.Private) {
				unseen[s.Message.Event] = s.Message
			}
			return r
		})
		if err == nil {
			x.heard(unseen)
			x.parts.Received(src.Channel, got.Stored)
			// Also where it came too late: see Sweep. A message may come before the sweep, and
			// give this process a conversation in which an earlier one left something to send.
			x.wake(got.Leases, got.Unsent)
		}
		return got, err
	})
	if err != nil {
		x.log.Error("batch_not_stored", "channel", src.Channel, "kind", ports.KindOf(err), "err", err)
		return err
	}
	if len(b.Messages) > 0 {
		x.log.Debug("batch_stored", "channel", src.Channel, "stored", got.Stored, "seen", got.Seen, "dropped", got.Dropped, "dur", time.Since(began))
	}
	return nil
}

// atWork are the conversations of these messages that have a lane now.
func (x *Inbox) atWork(list []ports.Message) map[ports.Conversation]bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	busy := map[ports.Conversation]bool{}
	for _, m := range list {
		busy[m.In] = x.lanes[m.In] != nil
	}
	return busy
}

// heard tells of messages whose people cannot know it yet.
func (x *Inbox) heard(unseen map[string]ports.Message) {
	if x.parts.Heard == nil {
		return
	}
	for _, m := range unseen {
		x.parts.Heard(m)
	}
}

func (x *Inbox) closing() bool {
	select {
	case <-x.closed:
		return true
	default:
		return x.ctx.Err() != nil
	}
}

// wake goes on with conversations; speaks: there may be something to send.
func (x *Inbox) wake(leases []ports.Lease, speaks bool) {
	for _, l := range leases {
		if speaks {
			x.parts.Flush(l)
		}
		x.news(l)
	}
}
