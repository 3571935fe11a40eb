package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/ports"
)

// fateKind is what became of a call that was begun.
type fateKind int

const (
	fateLanded  fateKind = iota // it came home with a result
	fateDied                    // the process died while it ran
	fateStopped                 // its person stopped the turn, or wrote something new, while it ran
	fateTimeUp                  // the turn's time was over while it ran
	fateUnknown                 // the recording ends while it runs
)

// fate is one begin of a call.
type fate struct {
	kind   fateKind
	row    int // of the result
	result ports.CallResult
}

// callID names a call of a turn.
type callID struct{ step, call int }

// endKind is why a recorded turn ended.
type endKind int

const (
	endNone     endKind = iota // it did not, yet
	endAnswered                // by the model's answer, or with nothing to stop
	endStopped                 // by its person: a stop, or something new that counts more
	endModel                   // the model failed
	endTime                    // its time was over
	endSteps                   // too many steps
	endGivenUp                 // processes died too often
	endStale                   // nobody said that what was written long ago is still wanted
)

// What turns wrote by themselves when these were recorded. These texts are of the
// past: they stay as they are when the agent learns to say it in another way, so
// that a replay shows the change.
const (
	wasCancelled   = "The person stopped the turn while this ran."
	wasNotStarted  = "Not run: the person stopped the turn."
	wasInterrupted = "The gateway was interrupted while this ran. It is not known whether it had an effect. It was not run again."
	wasTimeOver    = "The turn's time was over before this had a result."
	wasCutOff      = "This has no result."
	wasNotWanted   = "Not run: what the person wrote was too old"
	wasGivenUp     = "The turn was given up before this had a result."
	wasOverridden  = "The person wrote something new while this ran"
	wasNotBegun    = "Not run: the person wrote something new."
	wasWrittenOver = "Interrupted: I go on with your next message."
	wasTooMany     = "I stopped after "
	wasTooLong     = "I stopped because this took longer than "
	wasTooOften    = "I was interrupted too often while I worked on this"
)

// script is a recording, read as what has to happen when.
type script struct {
	rec     ports.Recording
	steps   []ports.Step
	replies []replyBody
	rounds  []int                    // the steps of the replies
	asked   map[int][]ports.Question // by how many rows there were; one about what was written comes first
	ttl     time.Duration            // how long a question stays open today
	fates   map[callID][]fate
	settled map[callID]ports.CallResult // results of calls that did not run
	end     endKind
	kind    ports.Kind // of a failure of the model's
	inRound bool       // the stop came while calls of the last reply ran
	anew    bool       // it was no stop: its person wrote something new
}

func readScript(rec ports.Recording, asker Asker) (*script, error) {
	if rec.Version != ports.RecordingVersion {
		return nil, ports.Errorf(ports.KindInvalid, "replay", "this is no recording, or one of another version: it has form %d, this version reads %d", rec.Version, ports.RecordingVersion)
	}
	if len(rec.Inbox) == 0 {
		return nil, ports.Errorf(ports.KindInvalid, "replay", "the recording of turn %q has no message", rec.Turn.ID)
	}
	if len(rec.Steps) == 0 && rec.Turn.State == ports.TurnDone {
		return nil, ports.Errorf(ports.KindInvalid, "replay", "turn %s was a command that was answered at receipt: there is nothing to replay", rec.Turn.ID)
	}
	s := &script{rec: rec, asked: map[int][]ports.Question{}, fates: map[callID][]fate{}, settled: map[callID]ports.CallResult{}}
	for i, st := range rec.Steps {
		if st.Index != i {
			return nil, ports.Errorf(ports.KindInvalid, "replay", "the recording of turn %s has a gap before step %d", rec.Turn.ID, st.Index)
		}
		s.steps = append(s.steps, st.Step())
	}
	for _, q := range rec.Questions {
		n, ok := askedAt(q, len(s.steps), asker)
		if !ok {
			return nil, ports.Errorf(ports.KindInvalid, "replay", "nobody knows when question %s of turn %s was asked", q.ID, rec.Turn.ID)
		}
		if s.asked[n] = append(s.asked[n], q); q.Kind == ports.QuestionStale {
			slices.Reverse(s.asked[n])
		}
	}
	probe, _ := asker.Stale(ports.About{})
	s.ttl = time.Until(probe.Expires)
	if err := s.readSteps(); err != nil {
		return nil, err
	}
	return s, nil
}

// askedAt is how many rows the journal had when a question was asked: its
// prompt's id has it.
func askedAt(q ports.Question, steps int, asker Asker) (int, bool) {
	rest, ok := strings.CutPrefix(q.Prompt, q.Turn+"/")
	number, _, _ := strings.Cut(strings.TrimLeft(rest, "qs"), "/")
	number, _, _ = strings.Cut(number, "-")
	if n, err := strconv.Atoi(number); ok && err == nil && n >= 0 && n <= steps {
		return n, true
	}
	for n := range steps + 1 {
		if asker.Current(q, n) {
			return n, true
		}
	}
	return 0, false
}

func (s *script) readSteps() error {
	last := -1 // step of the reply
	for i, st := range s.steps {
		s.died(i)
		id := callID{last, st.Call}
		switch st.Kind {
		case ports.StepReply:
			var b replyBody
			if err := read(st, &b); err != nil {
				return err
			}
			last = i
			s.replies, s.rounds = append(s.replies, b), append(s.rounds, i)
		case ports.StepStart:
			s.fates[id] = append(s.fates[id], fate{kind: fateUnknown})
		case ports.StepResult:
			var b resultBody
			if err := read(st, &b); err != nil {
				return err
			}
			s.came(id, i, b.CallResult)
		case ports.StepFinal:
			if err := s.readEnd(st); err != nil {
				return err
			}
		}
	}
	s.died(len(s.steps))
	return nil
}

// died notes that the process died while the call ran that a question is about.
func (s *script) died(row int) {
	for _, q := range s.asked[row] {
		list := s.fates[callID{q.Step, q.Call}]
		if q.Kind == ports.QuestionUnknown && len(list) > 0 && list[len(list)-1].kind == fateUnknown {
			list[len(list)-1].kind = fateDied
		}
	}
}

// cutOff reports whether the process died before a row of a call came to be that
// began after a row: a question was put in between, and none is while calls run.
func (s *script) cutOff(begun, row int, asked map[int][]ports.Question) bool {
	for n := begun + 1; n <= row; n++ {
		for _, q := range s.asked[n][min(len(asked[n]), len(s.asked[n])):] {
			if q.Kind != ports.QuestionApproval { // today's rules may want none
				return true
			}
		}
	}
	return false
}

// came notes a result.
func (s *script) came(id callID, row int, r ports.CallResult) {
	cancelled := r.Outcome == ports.CallCancelled
	overridden := strings.HasPrefix(r.Text, wasCancelled) || strings.HasPrefix(r.Text, wasOverridden)
	if cancelled && (overridden || r.Text == wasNotStarted || r.Text == wasNotBegun) {
		s.inRound = true
	}
	list := s.fates[id]
	if len(list) == 0 || list[len(list)-1].kind != fateUnknown {
		if r.Outcome != ports.CallInterrupted {
			s.settled[id] = r
		}
		return
	}
	f := fate{row: row, result: r}
	switch {
	case r.Outcome == ports.CallInterrupted: // and the admin's rules ended it
		f.kind = fateDied
		s.settled[id] = r
	case cancelled && overridden:
		f.kind = fateStopped
	case cancelled && strings.HasPrefix(r.Text, wasTimeOver):
		f.kind = fateTimeUp
	case cancelled && (strings.HasPrefix(r.Text, wasGivenUp) || strings.HasPrefix(r.Text, wasCutOff)):
		f.kind = fateDied
	}
	list[len(list)-1] = f
}

func (s *script) readEnd(st ports.Step) error {
	var b finalBody
	if err := read(st, &b); err != nil {
		return err
	}
	switch s.rec.Turn.Outcome {
	case ports.OutcomeAnswered:
		s.end = endAnswered
		return nil
	case ports.OutcomeSuperseded:
		if s.anew = strings.HasPrefix(b.Text, wasWrittenOver); s.anew {
			s.end, s.inRound = endStopped, s.inRound && !s.unjoined()
			return nil
		}
		s.end = endStale
		return nil
	case ports.OutcomeStopped:
		s.end = endStopped
		s.inRound = (s.inRound || s.unjoined()) && !s.answersStop()
		return nil
	}
	switch {
	case strings.HasPrefix(b.Text, wasTooMany):
		s.end = endSteps
	case strings.HasPrefix(b.Text, wasTooLong):
		s.end = endTime
	case strings.HasPrefix(b.Text, wasTooOften):
		s.end = endGivenUp
	default:
		s.end = endModel
		if err := s.kind.UnmarshalText([]byte(b.Kind)); err != nil {
			return fmt.Errorf("step %d: %w", st.Index, err)
		}
	}
	return nil
}

// answersStop reports whether the stop was said to a question, or chosen as its
// answer: then nothing ran when it came.
func (s *script) answersStop() bool {
	for _, list := range s.asked {
		for _, q := range list {
			if q.State == ports.QuestionStopped || q.Answers[ports.AnswerField] == ports.AnswerStop {
				return true
			}
		}
	}
	return false
}

// busy is what became of messages that came while the turn ran.
func (s *script) busy() ports.Busy {
	switch {
	case s.anew:
		return ports.BusyInterrupt
	case len(s.joined()) > 0:
		return ports.BusySteer
	}
	return ports.BusyQueue
}

// unjoined reports whether messages that wanted to join never did: the turn was
// stopped before its round was done.
func (s *script) unjoined() bool {
	for n, list := range s.asked {
		for _, q := range list {
			joins := q.State == ports.QuestionSuperseded && q.Kind != ports.QuestionStale
			if joins && !slices.ContainsFunc(s.steps[n:], func(st ports.Step) bool { return len(joinedBy(st)) > 0 }) {
				return true
			}
		}
	}
	return false
}

// fateOf is what becomes of a call that was begun so often.
func (s *script) fateOf(id callID, begun int) (fate, bool) {
	list := s.fates[id]
	if begun < 1 || begun > len(list) {
		return fate{}, false
	}
	return list[begun-1], true
}

// startsBefore is how often calls of a reply were begun before a row.
func (s *script) startsBefore(step, row int) int {
	n := 0
	for _, st := range s.steps[step+1 : row] {
		switch st.Kind {
		case ports.StepReply:
			return n
		case ports.StepStart:
			n++
		}
	}
	return n
}

// age is how old a message was when a question about its age was put, or when the
// turn ended because its person had written again since. Rows do not say when a
// turn went on otherwise: then what was written is fresh.
func (s *script) age(m ports.Inbox, rows int, q *ports.Question) time.Duration {
	at := s.rec.Turn.Started // of the first row, or of the question before it
	switch {
	case rows > 0 && q != nil:
		at = q.Expires.Add(-s.ttl)
	case rows > 0:
		at = s.rec.Turn.Finished
	}
	return at.Sub(written(m))
}

// joined are the seqs of the messages that joined the turn, with a row.
func (s *script) joined() []int64 {
	var list []int64
	for _, st := range s.steps {
		list = append(list, joinedBy(st)...)
	}
	return list
}

// joining are the messages that came instead of an answer to the question that
// was asked when the journal had n rows.
func (s *script) joining(n int) []int64 {
	for _, st := range s.steps[n:] {
		if seqs := joinedBy(st); len(seqs) > 0 {
			return seqs
		}
	}
	return s.late(func(m ports.RecordedMessage) bool { return m.Route == ports.RouteLane })
}

// leading are the messages that the turn began with. What a stop took with it
// came after the turn's first row.
func (s *script) leading() []int64 {
	if s.rec.Inbox[0].Route == ports.RouteControl {
		return []int64{s.rec.Inbox[0].Seq}
	}
	joined, late := s.joined(), s.late(func(ports.RecordedMessage) bool { return true })
	var list []int64
	for _, m := range s.rec.Inbox {
		if m.Route == ports.RouteLane && !slices.Contains(joined, m.Seq) && !slices.Contains(late, m.Seq) {
			list = append(list, m.Seq)
		}
	}
	return list
}

// late are the messages that came in while the turn was at work and that it took
// without a row of its own: they ended with it.
func (s *script) late(which func(ports.RecordedMessage) bool) []int64 {
	stopped := slices.ContainsFunc(s.rec.Inbox, func(m ports.RecordedMessage) bool { return m.Route == ports.RouteControl })
	joined := s.joined()
	var list []int64
	for i, m := range s.rec.Inbox {
		if i == 0 || !stopped || m.Route == ports.RouteAnswer || slices.Contains(joined, m.Seq) || !which(m) {
			continue
		}
		if m.Route == ports.RouteControl || len(s.rec.Steps) > 0 && m.Received.After(s.rec.Steps[0].At) {
			list = append(list, m.Seq)
		}
	}
	return list
}

// stop are the person's stop and what they wrote before it.
func (s *script) stop() []int64 {
	return s.late(func(ports.RecordedMessage) bool { return true })
}

// same reports whether two JSON values are the same.
func same(a, b json.RawMessage) bool { return canonical(a) == canonical(b) }

func canonical(raw json.RawMessage) string {
	var v any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber() // a float would make large numbers the same
	if d.Decode(&v) != nil {
		return string(raw)
	}
	return string(write(v))
}
