package telegram

import (
	"slices"
	"sync"

	"dragoman/ports"
)

// albumsMax is how many albums are remembered: the pieces of one come together.
const albumsMax = 64

// albums are those that speak to the bot: of the messages of an album one has the
// caption, and with it the bot's name, and the others are meant as well. The zero
// value is ready. Safe for many goroutines.
type albums struct {
	mu   sync.Mutex
	list []string // the latest last
}

// join has all messages of an album speak to the bot where one does, whichever came first.
func (a *albums) join(list []ports.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range list {
		if m.Album == "" || !m.Addressed || slices.Contains(a.list, m.Album) {
			continue
		}
		if a.list = append(a.list, m.Album); len(a.list) > albumsMax {
			a.list = slices.Delete(a.list, 0, 1)
		}
	}
	for i, m := range list {
		list[i].Addressed = m.Addressed || m.Album != "" && slices.Contains(a.list, m.Album)
	}
}
