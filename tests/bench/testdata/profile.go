package main

// This file is no part of the gateway: the bench adds it to a build of its own
// (go build -overlay) to see where time and memory go.

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"syscall"
)

// init profiles from SIGUSR1 to SIGUSR2, into files whose names begin with
// BENCH_PROFILE.
func init() {
	name := os.Getenv("BENCH_PROFILE")
	if name == "" {
		return
	}
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	allocations := func(suffix string) {
		f, err := os.Create(name + suffix)
		must(err)
		runtime.GC() // an allocation is counted by the collection after it
		must(pprof.Lookup("allocs").WriteTo(f, 0))
		must(f.Close())
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		<-signals
		allocations(".allocs-before")
		f, err := os.Create(name + ".cpu-part")
		must(err)
		must(pprof.StartCPUProfile(f))
		<-signals
		pprof.StopCPUProfile()
		must(f.Close())
		allocations(".allocs")
		must(os.Rename(name+".cpu-part", name+".cpu"))
	}()
}
