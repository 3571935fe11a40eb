package main

import (
	"sync"

	"dragoman/ports"
)

// board is what the source registered and told last. Safe for many goroutines.
type board struct {
	mu      sync.Mutex
	catalog ports.Catalog
	state   ports.State
	news    chan struct{} // closed and replaced at each change
}

var _ ports.Registrar = (*board)(nil)

func newBoard() *board { return &board{news: make(chan struct{})} }

// Register keeps what the server offers.
func (b *board) Register(c ports.Catalog) { b.note(func() { b.catalog = c }) }

// State keeps how the server is.
func (b *board) State(s ports.State) { b.note(func() { b.state = s }) }

func (b *board) note(what func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	what()
	close(b.news)
	b.news = make(chan struct{})
}

func (b *board) look() (ports.Catalog, ports.State, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.catalog, b.state, b.news
}
