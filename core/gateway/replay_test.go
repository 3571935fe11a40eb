package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/agent"
	"dragoman/core/ask"
	"dragoman/core/internal/guard"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// recordAnew writes the recordings of this run into the agent's test data:
//
//	go test ./core/gateway -run TestARecordedTurn -record
//
// Do it only for a turn that is meant to go in another way than it did.
var recordAnew = flag.Bool("record", false, "record the turns of ../agent/testdata/turns anew")

const recordings = "../agent/testdata/turns"

// TestARecordedTurnIsReplayedAlike runs each turn by a gateway and replays it, as
// it is now and as it was when the test data was made.
func TestARecordedTurnIsReplayedAlike(t *testing.T) {
	for _, c := range recorded {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var told [][]ports.Entry
			w.model.turnTimeout, w.stale = c.limit, time.Hour
			w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
				reply, err := c.reply(ctx, r)
				if err == nil {
					told = append(told, r.Entries) // one conversation: one request at a time
				}
				return reply, err
			}
			w.start()
			c.play(t, w)
			w.settled()
			all := w.recordings()
			w.end()
			rec := all[len(all)-1]
			if c.first {
				rec = all[0]
			}
			if n := count(rec, ports.StepReply); n > 0 && n <= len(told) && w.lives == 1 {
				rec.Prompts = told[len(told)-n:]
			}
			for _, one := range append(all, rec) {
				replayed(t, one, c.limit)
			}
			file := filepath.Join(recordings, c.name+".json")
			if *recordAnew {
				writeRecording(t, file, rec)
			}
			replayed(t, readRecording(t, file), c.limit)
		})
	}
}

// TestWhateverFailedIsReplayedAlike replays the turns of the dramas, whose
// process dies at each of its writes.
func TestWhateverFailedIsReplayedAlike(t *testing.T) {
	for _, d := range dramas {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			writes := play(t, d, 0, refused)
			for at := 1; at <= writes; at++ {
				t.Run(fmt.Sprint("killed after ", at), func(t *testing.T) {
					t.Parallel()
					play(t, d, at, killAfter)
					for _, rec := range turnsUnder(t) {
						replayed(t, rec, 0)
					}
				})
			}
		})
	}
}

// turnsUnder are the turns of the last store that a test made.
func turnsUnder(t *testing.T) []ports.Recording {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(t.TempDir()), "*", "dragoman.db"))
	if err != nil || len(files) == 0 {
		t.Fatal("the test left no store", err)
	}
	slices.Sort(files)
	return (&world{t: t, dir: filepath.Dir(files[len(files)-1])}).recordings()
}

// recordings are the turns that a lane ran, in order.
func (w *world) recordings() (list []ports.Recording) {
	w.t.Helper()
	var ids []string
	w.query(`SELECT id FROM turn WHERE steps > 0 OR state <> 'done' ORDER BY conv, seq`, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	for _, id := range ids {
		rec, err := sqlstore.Recorded(w.t.Context(), sqlstore.Config{Dir: w.dir}, id)
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, rec)
	}
	return list
}

// replay is a replay with the rules of the worlds.
func replay(t *testing.T, rec ports.Recording, limit time.Duration, change func(*agent.Config, *toolbox.Config)) (got agent.Comparison) {
	t.Helper()
	w := newWorld(t)
	cfg := agent.Config{Name: "main", MaxSteps: 5, TurnTimeout: cmp.Or(limit, time.Minute), StaleAfter: time.Hour, Models: []agent.Model{{ContextTokens: 32000}}}
	if change != nil {
		change(&cfg, &w.opt.Tools)
	}
	log := slog.New(slog.DiscardHandler)
	box := toolbox.New(w.opt.Tools, nil, &guard.Leaks{}, log)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = w.tools.Run(ctx, box.Add(toolbox.Source{Name: "srv"})) // registers, and leaves
	return replayBy(t, cfg, box.View(toolbox.Filter{}, nil), ask.New(w.opt.Ask), rec)
}

// replayBy is a replay in a bubble: it waits for nobody, and leaves nobody waiting.
func replayBy(t *testing.T, cfg agent.Config, rules agent.Rules, asker agent.Asker, rec ports.Recording) (got agent.Comparison) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if got, err = agent.Replay(t.Context(), cfg, rules, asker, rec, slog.New(slog.DiscardHandler)); err != nil {
			t.Error(err)
		}
	})
	return got
}

// replayed fails unless a replay is the same.
func replayed(t *testing.T, rec ports.Recording, limit time.Duration) {
	t.Helper()
	if got := replay(t, rec, limit, nil); !got.Same {
		t.Errorf("turn %s, first difference %d: %s", rec.Turn.ID, got.First(), indented(t, got))
	}
}

func count(rec ports.Recording, kind ports.StepKind) (n int) {
	for _, s := range rec.Steps {
		if s.Kind == kind {
			n++
		}
	}
	return n
}

func indented(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeRecording(t *testing.T, file string, rec ports.Recording) {
	t.Helper()
	if err := os.WriteFile(file, []byte(indented(t, rec)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readRecording(t *testing.T, file string) ports.Recording {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rec ports.Recording
	if err := json.Unmarshal(b, &rec); err != nil {
		t.Fatal(err)
	}
	return rec
}
