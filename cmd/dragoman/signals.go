package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// signals gives a context that ends with the first SIGINT or SIGTERM and one
// that ends with the second: stop in order, then at once.
func signals() (soft, hard context.Context, stop func()) {
	soft, endSoft := context.WithCancel(context.Background())
	hard, endHard := context.WithCancel(context.Background())
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-c
		endSoft()
		<-c
		endHard()
	}()
	var once sync.Once
	return soft, hard, func() {
		once.Do(func() {
			signal.Stop(c)
			endSoft()
			endHard()
		})
	}
}
