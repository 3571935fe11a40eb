package discord

import (
	"fmt"
	"testing"

	fake "dragoman/tests/fake/discord"
)

func TestWhatIsWrittenAfterAFirstStartWithoutMessagesIsRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann, general := r.server.User("Ann"), r.server.Guild("Team").Channel("general")
	ann.SayIn(general, "before the first start")
	r.run()
	r.until("the cursor is stored", func() bool { c, err := r.inbox.Cursor(t.Context()); return err == nil && c != "" })
	r.halt()
	ann.SayIn(general, "while it was away")
	r.run()
	r.hears(map[string][]string{general: {"while it was away"}})
}

func TestOfTooManyPrivateChatsTheOldestAreForgotten(t *testing.T) {
	t.Parallel()
	id := func(i int) string { return fmt.Sprint(1_300_000_000_000_000_000 + i) }
	rooms, err := newRooms("")
	if err != nil {
		t.Fatal(err)
	}
	const more = 10
	for i := range maxDirect + more {
		rooms.learn(room{ID: id(i), Type: typeDM})
	}
	rooms.stored(id(3), id(1_000_000)) // it is old, and not silent
	kept, err := newRooms(rooms.caughtUp())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]bool{0: false, 2: false, 3: true, 4: false, more: false, more + 1: true, maxDirect + more - 1: true} {
		if _, known := kept.get(id(i)); known != want {
			t.Errorf("chat %d of %d is known: %v, want %v", i, maxDirect+more, known, want)
		}
	}
}
