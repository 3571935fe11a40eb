package openai

import (
	"testing"

	"dragoman/tests/modeltest"
)

func TestConformance(t *testing.T) {
	p := newPeer(t)
	modeltest.Run(t, modeltest.Harness{
		Model:  testModel(t, p.URL+"/v1"),
		Script: p.script,
		Seen:   p.got,
		Secret: testKey,
	})
}
