package linechat

import (
	"context"
	"testing"

	"dragoman/tests/channeltest"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, channeltest.Harness{
		Start: func(ctx context.Context) (channeltest.Platform, error) { return newPlatform(ctx), nil },
	})
}
