package sqlstore

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
)

// These variables make the test binary, run again, a process that holds or
// writes a store.
const (
	childDir  = "SQLSTORE_TEST_DIR"
	childTask = "SQLSTORE_TEST_TASK"
)

// child does what a re-executed test binary is for and reports whether it was one.
func child(*testing.M) bool {
	dir := os.Getenv(childDir)
	if dir == "" {
		return false
	}
	ctx := context.Background()
	if os.Getenv(childTask) == "migrate" {
		fmt.Println("failed", migrateForEver(ctx, dir))
		return true
	}
	s, err := Open(ctx, Config{Dir: dir, Sync: "full"}, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println("failed", err)
		return true
	}
	fmt.Println("open")
	switch os.Getenv(childTask) {
	case "hold":
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it
		_ = s.Close()
	case "write":
		writeUntilKilled(ctx, s)
	}
	return true
}

// writeUntilKilled prints each event after its commit.
func writeUntilKilled(ctx context.Context, s *Store) {
	life := fmt.Sprint(os.Getpid())
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			for n := range 100_000 {
				event := fmt.Sprintf("%s-%d-%d", life, w, n)
				if err := acceptOne(ctx, s, fmt.Sprint(w), event); err != nil {
					fmt.Println("failed", err)
					return
				}
				fmt.Println(event)
			}
		})
	}
	group.Wait()
}

func acceptOne(ctx context.Context, s *Store, chat, event string) error {
	_, err := acceptEvent(ctx, s, chat, event)
	return err
}

func acceptEvent(ctx context.Context, s *Store, chat, event string) (ports.Accepted, error) {
	m := ports.Message{Event: event, In: ports.Conversation{Channel: "c", Chat: chat}, Text: strings.Repeat("x", 300)}
	return s.Accept(ctx, ports.Source{Channel: "c"}, ports.Batch{Messages: []ports.Message{m}, Cursor: event}, func(ports.Sight) ports.Route {
		return ports.Route{Kind: ports.RouteLane, Person: "p"}
	})
}

func startChild(t *testing.T, dir, task string) (cmd *exec.Cmd, stdin io.Closer, out *bufio.Scanner) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childTask+"="+task)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	out = bufio.NewScanner(pipe)
	if !out.Scan() || out.Text() != "open" {
		t.Fatalf("the child said %q", out.Text())
	}
	return cmd, in, out
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	cmd, stdin, _ := startChild(t, dir, "hold")
	s, err := Open(t.Context(), Config{Dir: dir, Sync: "full"}, slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatal("a second process opened the store", s.Close())
	}
	want := fmt.Sprintf("another dragoman (pid %d) is using %s; stop it first, or choose another data_dir", cmd.Process.Pid, dir)
	if !ports.IsKind(err, ports.KindConflict) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v (kind %s), want %s", err, ports.KindOf(err), want)
	}
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, dir)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestKilledWriterLosesNothing(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[string]string{} // event to chat
	for range 10 {
		cmd, _, out := startChild(t, dir, "write")
		kill, told := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }), 0
		for out.Scan() {
			event := out.Text()
			if strings.Count(event, "-") == 2 { // a line that the kill cut off was acknowledged all the same, but has no name
				acknowledged[event] = strings.Split(event, "-")[1]
				if told++; told == 8 { // however long the first took
					kill.Reset(time.Duration(20+rand.IntN(120)) * time.Millisecond)
				}
			} else if strings.HasPrefix(event, "failed") {
				t.Error(event)
			}
		}
		kill.Stop()
		_ = cmd.Wait()
	}
	if len(acknowledged) < 50 {
		t.Fatalf("only %d rows were acknowledged: the test shows nothing", len(acknowledged))
	}
	s := openAt(t, dir)
	defer s.Close()
	lost := 0
	for event, chat := range acknowledged {
		got, err := acceptEvent(t.Context(), s, chat, event)
		if err != nil {
			t.Fatal(err)
		}
		lost += got.Stored
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged rows are lost", lost, len(acknowledged))
	}
	checkIntegrity(t, s)
}

func openAt(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: dir, Sync: "normal"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// checkIntegrity wants a sound file in which seqs have no gaps.
func checkIntegrity(t *testing.T, s *Store) {
	t.Helper()
	err := s.view(t.Context(), "check", func(ctx context.Context, q *session) error {
		var verdict string
		if _, err := q.get(ctx, `PRAGMA integrity_check`, nil, &verdict); err != nil {
			return err
		}
		gaps := 0
		_, err := q.get(ctx, `SELECT COUNT(*) FROM (SELECT conv, MAX(seq) AS last, COUNT(*) AS n FROM inbox GROUP BY conv) WHERE last <> n`, nil, &gaps)
		if verdict != "ok" || gaps > 0 {
			t.Errorf("integrity_check says %q; %d conversations have gaps", verdict, gaps)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
