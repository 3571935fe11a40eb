//go:build !unix

package mcpfaults

import "syscall"

// ownSession does nothing: sessions are a thing of Unix.
func ownSession() *syscall.SysProcAttr { return nil }

func modest() {}
