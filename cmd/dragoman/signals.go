package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/mattn/go-isatty"

	"dragoman/ports"
)

// signals gives a context that ends with the first SIGINT or SIGTERM and one
// that ends with the second: stop in order, then at once.
func signals() (soft, hard context.Context, stop func()) {
	soft, endSoft := context.WithCancel(context.Background())
	hard, endHard := context.WithCancelCause(context.Background())
	c := make(chan os.Signal, 2)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-c
		endSoft()
		<-c
		endHard(ports.ErrLeaving)
	}()
	var once sync.Once
	return soft, hard, func() {
		once.Do(func() {
			signal.Stop(c)
			endSoft()
			endHard(ports.ErrLeaving)
		})
	}
}

// outlive keeps a gateway going that was told to read its config again, which it
// cannot yet, and one whose log nobody reads any more: by default a process dies
// of either. One whose terminal was closed under it stops in order: end is called.
// Children get the signals as they always did.
func outlive(log *slog.Logger, end func()) (stop func()) {
	terminal := isatty.IsTerminal(os.Stderr.Fd())
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	deaf := make(chan os.Signal, 1) // never read: to be notified is what keeps us alive
	signal.Notify(deaf, syscall.SIGPIPE)
	over := make(chan struct{})
	go func() {
		for {
			select {
			case <-c:
				if terminal && !isatty.IsTerminal(os.Stderr.Fd()) { // it hung up
					end()
					continue
				}
				log.Warn("reload_not_supported", "hint", "restart the gateway to apply a changed config")
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(c)
		signal.Stop(deaf)
		close(over)
	}
}

// unlessStopped is err, or nil where a stop cut a start short: that is an end in order.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
