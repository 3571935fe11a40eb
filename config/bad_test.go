package config_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/config"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestBadFiles holds the exact faults of each file in testdata/bad, those of its sections too.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files to test: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			got := faultsOf(t, file)
			for _, never := range []string{hidden, "hunter2", "topsecret"} {
				if strings.Contains(got, never) {
					t.Errorf("a fault shows a secret:\n%s", got)
				}
			}
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func faultsOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(filepath.Base(file), text, filepath.Dir(file), environment)
	if err == nil {
		// Each file is bad by itself or in its sections.
		t.Log("the file's own keys are right")
	}
	if cfg != nil {
		err = config.Join(err, decodeSections(cfg))
	}
	var faults config.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("not Faults: %v", err)
	}
	return faults.Error() + "\n"
}

func TestLoadSaysWhyAFileCannotBeRead(t *testing.T) {
	_, err := config.Load(filepath.Join(t.TempDir(), "none.json"), nil)
	var faults config.Faults
	if !errors.Is(err, fs.ErrNotExist) || errors.As(err, &faults) {
		t.Fatalf("a plain not-exist error was due, not %v", err)
	}
}

func TestLargeFileIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "big.json")
	if err := os.WriteFile(file, []byte("{}"+strings.Repeat(" ", 5<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(file, nil)
	if err == nil || !strings.Contains(err.Error(), ":1:1: is too large") {
		t.Fatalf("got %v", err)
	}
}

func TestJoin(t *testing.T) {
	a := config.Fault{File: "f", Line: 1, Col: 2, Text: "a"}
	b := config.Fault{File: "f", Line: 1, Col: 10, Text: "b"}
	plain := errors.New("plain")
	if err := config.Join(nil, nil); err != nil {
		t.Errorf("Join of nothing is %v", err)
	}
	if err := config.Join(b, config.Faults{a, b}, nil); err.Error() != "f:1:2: a\nf:1:10: b" {
		t.Errorf("not sorted, or with doubles: %v", err)
	}
	if err := config.Join(plain); !errors.Is(err, plain) {
		t.Errorf("a plain error got lost: %v", err)
	}
	var faults config.Faults
	if err := config.Join(a, plain); !errors.Is(err, plain) || !errors.As(err, &faults) {
		t.Errorf("one of two got lost: %v", err)
	}
}
