package demo

import (
	"testing"

	"dragoman/tests/modeltest"
)

// The demo has no peer: the rules about wires do not concern it.
func TestConformance(t *testing.T) {
	modeltest.Run(t, modeltest.Harness{Model: newModel(t)})
}
