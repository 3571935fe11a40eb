package e2e

import (
	"os"
	"testing"
	"time"
)

// After a restore the button of a question that the lost world asked approves no
// other call.
func TestAButtonOfTheLostWorldApprovesNothing(t *testing.T) {
	t.Parallel()
	w := newOldWorld(t, gatewayBinary(t), `"limits": {"stale_after": "0s"},`)
	w.model.On("delete the old list", callsFirst("bad__babbles", `{"text":"the old list"}`))
	w.model.On("delete the new list", callsFirst("bad__babbles", `{"text":"the new list"}`))
	w.Start()
	w.WaitReady()
	w.WaitLine("mcp_server_connected", readyWithin)
	w.say(t, ann, "hello", 1, contains(""))
	if _, stderr, code := w.CLI("pair", "approve", w.waiting(t, ann)); code != 0 {
		t.Fatal(stderr)
	}
	w.outcome(t, w.people[ann], 2, contains("You are in"))
	w.say(t, ann, "hello", 3, is("Fine."))
	eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(w.Dir) })
	if _, stderr, code := w.CLI("backup", "monday.db"); code != 0 {
		t.Fatal(stderr)
	}
	w.say(t, ann, "delete the old list", 4, matches(`(?s)May I run bad__babbles.*the old list`)) // asked after the backup
	lost := w.tg.Sent(ann)[3]
	w.Kill()

	w.point(t, "monday.db")
	w.Start()
	w.WaitReady()
	w.WaitLine("mcp_server_connected", readyWithin)
	w.say(t, ann, "delete the new list", 5, matches(`(?s)May I run bad__babbles.*the new list`))
	if err := w.people[ann].Press(lost.ID, "Yes, run it"); err != nil { // she means the old list
		t.Fatal(err)
	}
	late := time.NewTimer(3 * time.Second)
	<-late.C
	if b, err := os.ReadFile(w.wrote); err == nil {
		t.Errorf("her yes about the old list ran the call about the new one: %q; her chat shows %q", b, w.tg.Sent(ann)[len(w.tg.Sent(ann))-1].Text)
	}
}
