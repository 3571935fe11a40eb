package openai

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"dragoman/tests/aimock"
	"dragoman/tests/modeltest"
)

func overResponses(c *Config) { c.API = apiResponses }

func TestConformanceResponses(t *testing.T) {
	p := newPeer(t)
	modeltest.Run(t, modeltest.Harness{
		Model:  testModel(t, p.URL+"/v1", overResponses),
		Script: p.script,
		Seen:   p.got,
		Secret: testKey,
	})
}

// TestConformanceResponsesAimock runs the kit against a server of the wire that
// nobody here wrote.
func TestConformanceResponsesAimock(t *testing.T) {
	mock := aimock.Start(t, testKey)
	modeltest.Run(t, modeltest.Harness{
		Model: testModel(t, mock.URL+"/v1", overResponses),
		Script: func(ctx context.Context, a modeltest.Act) error {
			if a.Do == modeltest.Filtered {
				return fmt.Errorf("aimock says of a filtered response that it failed, and not why: %w", errors.ErrUnsupported)
			}
			return mock.Script(ctx, a)
		},
		Seen:   mock.Seen,
		Secret: testKey,
	})
}
