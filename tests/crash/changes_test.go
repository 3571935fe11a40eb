package crash

import "dragoman/ports"

// What the dramas say in which people change what they said.
const (
	sayOld       = "the old words"
	sayBetter    = "better words"
	answerBetter = "better done."
	sayThat      = "and that"
	answerThat   = "and that is done."
	offersRedo   = "You edited this message"
	summary      = "Much was read."
)

// changes are the dramas of the stop button, and of edits, deletions and redos: before the turn of the
// message that is changed, in it, and behind it.
func changes() []drama {
	redo := drama{name: "redo", says: sayOld, calls: []string{"pay_c"}, approve: sayYes, unknown: saySkip, ends: []string{answerBetter}, gone: []string{sayOld},
		acts: []act{{at: answerFirst, does: edits, what: sayBetter, of: sayOld}, {at: offersRedo, does: presses, what: redoButton}, {at: answerBetter, does: pressesAgain}}}
	return []drama{
		{name: "stop button", calls: []string{"slow_f"}, ends: []string{textStopped}, acts: []act{{at: preview, does: presses, what: stopButton}}},
		{name: "edit while it waits", calls: []string{"wait_g"}, gone: []string{sayAlso}, never: true, ends: []string{answerThat},
			acts: []act{{at: "wait_g", does: says, what: sayAlso}, {does: edits, what: sayThat, of: sayAlso}}},
		{name: "edit as it is asked", streamed: true, says: sayOld, gone: []string{sayOld}, ends: []string{answerBetter},
			acts: []act{{at: preview, does: edits, what: sayBetter, of: sayOld}}},
		{name: "edit of what runs", says: sayOld, calls: []string{"pay_c", "wait_g"}, rounds: true, unknown: saySkip, ends: []string{answerBetter},
			acts: []act{{at: "wait_g", does: edits, what: sayBetter, of: sayOld}}},
		{name: "edit at a question", says: sayOld, calls: []string{"risky_e"}, ends: []string{answerBetter},
			acts: []act{{at: "May I run", does: edits, what: sayBetter, of: sayOld}}},
		redo,
		{name: "delete while it waits", calls: []string{"wait_g"}, gone: []string{sayAlso}, never: true, ends: []string{answerThat},
			acts: []act{{at: "wait_g", does: says, what: sayAlso}, {does: says, what: sayThat}, {does: deletes, of: sayAlso}}},
		{name: "delete as it is asked", streamed: true, silent: true, says: sayOld, gone: []string{sayOld}, ends: []string{textStopped},
			acts: []act{{at: preview, does: deletes, of: sayOld}}},
		{name: "delete of what runs", says: sayOld, calls: []string{"slow_f"}, gone: []string{sayOld}, ends: []string{textStopped},
			acts: []act{{at: "slow_f", does: deletes, of: sayOld}}},
		{name: "delete at a question", says: sayOld, calls: []string{"risky_e"}, gone: []string{sayOld}, ends: []string{textStopped},
			acts: []act{{at: "May I run", does: deletes, of: sayOld}}},
		{name: "delete of what was summed up", says: sayOld, calls: []string{"read_a"}, gone: []string{sayOld, summary},
			acts: []act{{at: answerFirst, does: says, what: sayAlso}, {at: answerAlso, does: says, what: "/compact"}, {at: "Compacted", does: deletes, of: sayOld}}},
		{name: "forget", says: sayOld, calls: []string{"read_a"}, gone: []string{sayOld}, ends: []string{"I have forgotten"},
			acts: []act{{at: answerFirst, does: forgets, of: sayOld}}},
		{name: "forget what runs", says: sayOld, calls: []string{"slow_f"}, busy: ports.BusySteer, gone: []string{sayOld}, ends: []string{textStopped},
			acts: []act{{at: "slow_f", does: forgets, of: sayOld}}},
		onBare(redo),
	}
}

// onBare is a drama on a platform that edits, shows and takes no more than it has to.
func onBare(d drama) drama {
	d.name, d.bare = d.name+" on a bare platform", true
	return d
}
