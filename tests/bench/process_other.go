//go:build !linux

package main

import (
	"errors"
	"syscall"
	"time"
)

// Nothing is measured here, and so there is no profile.
const (
	beginProfile = syscall.SIGINT
	endProfile   = syscall.SIGINT
)

func mortal() *syscall.SysProcAttr { return nil }

func cpuOf(int) (time.Duration, error) { return 0, errors.New("measuring needs Linux") }
