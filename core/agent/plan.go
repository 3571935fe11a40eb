package agent

import (
	"context"

	"dragoman/ports"
)

// plan is what a round does next.
type plan struct {
	start  []int // calls that get a start row
	launch []int // calls that run after the commit: those, and harmless ones that a crash cut off
	rejoin []int // calls that a crash cut off, and that their server may still have
	class  map[int]ports.Class
	ask    *asking // the question to put, once nothing runs
}

// asking is a question that has to be put about a call.
type asking struct {
	call    int
	unknown bool // the call began, and its outcome is unknown
}

// plan looks at each call without a result, in order. Calls that cannot run get
// their result at once. One that changes things waits for those before it.
func (t *turn) plan(ctx context.Context, r *round, f flights) plan {
	p := plan{class: map[int]ports.Class{}}
	blocked := false // an earlier call that changes things is not done
	for i := range r.calls {
		c := &r.calls[i]
		class, running := f.open[i]
		switch {
		case running:
			blocked = blocked || class != ports.ClassRead
			continue
		case c.result != nil:
			continue
		case c.started:
			blocked = t.planCutOff(ctx, r, i, &p, blocked)
			continue
		}
		ruling := t.ruling(ctx, r, i)
		if ruling.Outcome != "" {
			t.log.Info("tool_call_finished", "tool", r.reply.Calls[i].Name, "step", r.step, "call", i, "outcome", ruling.Outcome)
			t.settle(r, i, ports.CallResult{Outcome: ruling.Outcome, Text: ruling.Why})
			continue
		}
		// What the person said counts, also where they would not be asked any more.
		ready := !ruling.NeedsApproval() && !t.wasAsked(r, i) || t.approved(r, i, &p)
		if c.result != nil {
			continue // not approved
		}
		if ready && (ruling.Class == ports.ClassRead || !blocked) {
			p.start, p.launch = append(p.start, i), append(p.launch, i)
			p.class[i] = ruling.Class
		}
		blocked = blocked || ruling.Class != ports.ClassRead
	}
	return p
}

// planCutOff plans a call that has a start row and no result, after a crash: a
// harmless one runs again under the same key. Another is taken up where its server
// still has it, otherwise the person decides.
// Either way it runs only if the admin still lets it.
func (t *turn) planCutOff(ctx context.Context, r *round, i int, p *plan, blocked bool) bool {
	class := r.calls[i].class
	harmless := class == ports.ClassRead || class == ports.ClassIdempotent
	if !harmless {
		if !r.calls[i].sought && t.tools.Rejoins(r.reply.Calls[i].Name) {
			p.rejoin = append(p.rejoin, i)
			return true
		}
		switch value, answered := t.answer(r, i, ports.QuestionUnknown); {
		case !answered:
			if p.ask == nil {
				p.ask = &asking{call: i, unknown: true}
			}
			return true
		case value == ports.AnswerStop:
			t.stopped = true
			return true
		case value != ports.AnswerAgain:
			t.settle(r, i, ports.CallResult{Outcome: ports.CallInterrupted, Text: textInterrupted})
			return blocked
		}
	}
	if ruling := t.ruling(ctx, r, i); ruling.Outcome != "" {
		t.settle(r, i, ports.CallResult{Outcome: ports.CallInterrupted, Text: textInterrupted + " " + ruling.Why})
		return blocked
	}
	if blocked && class != ports.ClassRead {
		return true
	}
	p.launch = append(p.launch, i)
	if !harmless { // it begins anew: the answer is used up
		p.start = append(p.start, i)
		p.class[i] = class
	}
	return blocked || class != ports.ClassRead
}

// wasAsked reports whether the person was asked whether a call may run.
func (t *turn) wasAsked(r *round, i int) bool {
	q := t.question
	return q != nil && q.Kind == ports.QuestionApproval && q.Step == r.step && q.Call == i
}

// approved reports whether the person said yes to a call. If they said no, or
// did not answer, the call gets its result; if they were not asked yet, the
// plan asks.
func (t *turn) approved(r *round, i int, p *plan) bool {
	value, answered := t.answer(r, i, ports.QuestionApproval)
	switch {
	case !answered && t.question == nil:
		if p.ask == nil {
			p.ask = &asking{call: i}
		}
		return false
	case !answered && t.question.State == ports.QuestionAnswered:
		return false // another call's answer comes first
	case value == ports.AnswerYes:
		return true
	case value == ports.AnswerNo:
		t.audit(r, i, "tool_refused")
		t.settle(r, i, ports.CallResult{Outcome: ports.CallDenied, Text: textSaidNo})
	default:
		t.settle(r, i, ports.CallResult{Outcome: ports.CallDenied, Text: textNotAnswered})
	}
	return false
}

// answer is what the person said to the question about this call, "" if the
// question was settled in another way; ok is false while there is no such answer.
func (t *turn) answer(r *round, i int, kind ports.QuestionKind) (value string, ok bool) {
	q := t.question
	if q == nil {
		return "", false
	}
	if q.State == ports.QuestionSuperseded || q.State == ports.QuestionExpired {
		return "", true // and the rest of the round is not asked about either
	}
	if q.State != ports.QuestionAnswered || q.Kind != kind || q.Step != r.step || q.Call != i {
		return "", false
	}
	return q.Answers[ports.AnswerField], true
}

// ruling is the toolbox's verdict on a call, asked once in an activation.
func (t *turn) ruling(ctx context.Context, r *round, i int) ports.Ruling {
	v, ok := t.rulings[i]
	if !ok {
		v = t.tools.Check(ctx, r.reply.Calls[i])
		if t.taken[0].Undoes > 0 && v.Policy == ports.PolicyAllow && v.Class != ports.ClassRead {
			v.Policy = ports.PolicyAsk // it may have been done before, with other arguments
		}
		t.rulings[i] = v
	}
	return v
}
