//go:build !linux

package main

import (
	"errors"
	"syscall"
	"time"
)

func mortal() *syscall.SysProcAttr { return nil }

func cpuOf(int) (time.Duration, error) { return 0, errors.New("measuring needs Linux") }
