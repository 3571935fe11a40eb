package main

import (
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/model"
)

// What the model thinks about comes when it is let go, and not before.
func TestHold(t *testing.T) {
	r := newRig(Load{Chats: 1}, 5)
	defer r.close()
	release := r.hold()
	defer release()
	said := make(chan model.Reply, 1)
	go func() {
		said <- r.answer(model.Request{Messages: []model.Message{{Role: "user", Text: "How much? ref 10000-3"}}})
	}()
	select {
	case got := <-said:
		t.Fatalf("it says %+v", got)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	if got := <-said; !strings.HasSuffix(got.Text, "ref 10000-3") {
		t.Errorf("it says %+v", got)
	}
}

func TestRecoveryOf(t *testing.T) {
	ms := time.Millisecond
	got := recoveryOf(200, []recovered{{90 * ms, 300 * ms, 500 * ms, 0}, {100 * ms, 200 * ms, 900 * ms, 0.3}, {80 * ms, 400 * ms, 600 * ms, 0.1}})
	want := Recovery{InFlight: 200, Kills: 3, PollMS: 90, FirstMS: 300, FirstWorstMS: 400, AllMS: 600, AllWorstMS: 900, Others: 0.3}
	if *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}
