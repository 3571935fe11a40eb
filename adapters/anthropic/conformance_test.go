package anthropic

import (
	"testing"

	"dragoman/tests/aimock"
	"dragoman/tests/modeltest"
)

func TestConformance(t *testing.T) {
	p := newPeer(t)
	modeltest.Run(t, modeltest.Harness{
		Model:  testModel(t, p.URL),
		Script: p.script,
		Seen:   p.got,
		Secret: testKey,
	})
	for _, r := range p.refused {
		t.Errorf("the API would refuse a request: %s", r)
	}
}

// TestConformanceAimock runs the kit against a server of the wire that nobody
// here wrote.
func TestConformanceAimock(t *testing.T) {
	mock := aimock.Start(t, testKey)
	mock.Filter = "refusal"
	modeltest.Run(t, modeltest.Harness{
		Model:  testModel(t, mock.URL),
		Script: mock.Script,
		Seen:   mock.Seen,
		Secret: testKey,
	})
}
