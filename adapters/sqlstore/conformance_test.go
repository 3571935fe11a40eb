package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"dragoman/tests/storetest"
)

func TestMain(m *testing.M) {
	if child(m) {
		return
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	storetest.Run(t, harness(t.TempDir()))
}

func harness(dir string) storetest.Harness {
	return storetest.Harness{
		Open: func(ctx context.Context, place string) (storetest.Store, error) {
			s, err := Open(ctx, Config{Dir: filepath.Join(dir, place), Sync: "normal"}, slog.New(slog.DiscardHandler))
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		Crash: func(s storetest.Store) error { return s.(*Store).crash() },
	}
}

// crash ends the store as the death of its process would: nothing is given back.
func (s *Store) crash() error {
	err := errors.New("crashed before")
	s.closeOnce.Do(func() {
		s.writer.stop(nil)
		err = s.shut()
	})
	return err
}
