package openai

import (
	"testing"

	"dragoman/tests/aimock"
	"dragoman/tests/modeltest"
)

// TestConformanceAimock runs the kit against a server of the wire that nobody
// here wrote.
func TestConformanceAimock(t *testing.T) {
	mock := aimock.Start(t, testKey)
	modeltest.Run(t, modeltest.Harness{
		Model:  testModel(t, mock.URL+"/v1"),
		Script: mock.Script,
		Seen:   mock.Seen,
		Secret: testKey,
	})
}
