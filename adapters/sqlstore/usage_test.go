package sqlstore

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"dragoman/ports"
)

// What a version booked that knew no cost is summed up as before: its chat is
// that of its turn, and its price is unknown.
func TestUsageFromBeforeThereWereCostsIsStillSummedUp(t *testing.T) {
	dir := t.TempDir()
	first := fstest.MapFS{}
	for _, name := range []string{"0001_init.sql", "0002_deaths.sql"} {
		name = path.Join(migrationsDir, name)
		b, err := fs.ReadFile(migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		first[name] = &fstest.MapFile{Data: b}
	}
	put(t, filepath.Join(dir, fileName), nil)
	db, err := openSQLite(filepath.Join(dir, fileName), "mode=rw", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), db, first); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Minute).UnixMilli()
	for _, q := range []string{
		`INSERT INTO conv (id, channel, chat, thread) VALUES ('tg:a:1', 'tg', 'a', '1')`,
		`INSERT INTO turn (id, conv, seq, lane, person, state, outcome, started) VALUES ('tg:a:1#1', 'tg:a:1', 1, 1, 'ann', 'done', 'answered', 1)`,
		fmt.Sprintf(`INSERT INTO usage (at, turn, step, person, model, input, cached_input, output) VALUES (%d, 'tg:a:1#1', 0, 'ann', 'gpt', 10, 4, 2)`, at),
		fmt.Sprintf(`INSERT INTO usage (at, turn, step, person, model, input, cached_input, output) VALUES (%d, 'gone#1', 0, 'ann', 'gpt', 1, 0, 1)`, at),
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, dir)
	for by, want := range map[ports.UsageBy]string{
		ports.UsageByPerson: "[{ann 2 {11 4 0 3} 0 2}]",
		ports.UsageByChat:   "[{tg:a 1 {10 4 0 2} 0 1} {: 1 {1 0 0 1} 0 1}]",
		ports.UsageByAgent:  "[{ 2 {11 4 0 3} 0 2}]",
	} {
		got, err := s.Used(t.Context(), ports.UsageQuery{By: by})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, u := range got {
			list = append(list, fmt.Sprintf("{%s %d {%d %d %d %d} %d %d}", u.Key, u.Requests, u.Input, u.CachedInput, u.CacheWrite, u.Output, u.Cost, u.Unpriced))
		}
		if text := fmt.Sprint(list); text != want {
			t.Errorf("by %q: %s, want %s", by, text, want)
		}
	}
	checkIntegrity(t, s)
}

// Days end at midnight of the time zone that was asked for, and are as long as
// they are there.
func TestDaysOfUsageAreTheZonesOwn(t *testing.T) {
	s := openAt(t, t.TempDir())
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	err = s.update(t.Context(), "book", func(ctx context.Context, q *session) error {
		for _, at := range []time.Time{
			time.Date(2026, 3, 28, 23, 59, 59, 999e6, berlin), // the day after it has 23 hours
			time.Date(2026, 3, 29, 0, 0, 0, 0, berlin),
			time.Date(2026, 3, 29, 23, 59, 59, 999e6, berlin),
			time.Date(2026, 3, 30, 0, 0, 0, 0, berlin),
			time.Date(2026, 10, 25, 23, 59, 59, 999e6, berlin), // this one has 25
		} {
			if _, err := q.exec(ctx, `INSERT INTO usage (at, turn, step, person, model, input, cached_input, output) VALUES ($1, 't', 0, 'p', 'm', 1, 0, 0)`, at.UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[*time.Location]string{
		berlin:                                "2026-03-29 2 2026-03-28 1 2026-03-30 1 2026-10-25 1",
		time.UTC:                              "2026-03-28 2 2026-03-29 2 2026-10-25 1",
		time.FixedZone("Nepal", 5*3600+45*60): "2026-03-29 2 2026-03-30 2 2026-10-26 1",
	} {
		got, err := s.Used(t.Context(), ports.UsageQuery{Since: time.Date(2026, 1, 1, 0, 0, 0, 0, in), By: ports.UsageByDay})
		var list []string
		for _, u := range got {
			list = append(list, u.Key, fmt.Sprint(u.Requests))
		}
		if text := strings.Join(list, " "); err != nil || text != want {
			t.Errorf("in %s: %s (%v), want %s", in, text, err, want)
		}
	}
}

// What is asked before each request of a day's first must not read all days.
func TestADaysUsageIsFoundByAnIndex(t *testing.T) {
	s := openAt(t, t.TempDir())
	for index, q := range map[string]ports.UsageQuery{
		"usage_person": {Since: time.Now(), Person: "p"},
		"usage_chat":   {Since: time.Now(), Channel: "c", Chat: "a"},
		"usage_at":     {Since: time.Now()},
	} {
		where, args := usageFilter(q)
		plan := ""
		err := s.view(t.Context(), "plan", func(ctx context.Context, t *session) error {
			return t.each(ctx, `EXPLAIN QUERY PLAN SELECT SUM(cost) FROM usage`+where, args, func(scan scanner) error {
				var id, parent, unused int
				var line string
				err := scan(&id, &parent, &unused, &line)
				plan += line + "\n"
				return err
			})
		})
		if err != nil || !strings.Contains(plan, "USING INDEX "+index+" (") {
			t.Errorf("%s is not used (%v): %s", index, err, plan)
		}
	}
}
