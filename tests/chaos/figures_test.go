package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// figures of one soak, and a line of the history.
type figures struct {
	Date           time.Time `json:"date"`
	Commit         string    `json:"commit"`
	Platform       string    `json:"platform"`
	Go             string    `json:"go"`
	Cores          int       `json:"cores"`
	Seed           uint64    `json:"seed"`
	Seconds        float64   `json:"seconds"`
	Kills          int       `json:"kills"` // ends that were no drain
	Drains         int       `json:"sigterms"`
	Conversations  int       `json:"conversations"`
	Messages       int       `json:"messages"`
	Answers        int       `json:"answers"`
	Stopped        int       `json:"stopped"`
	Questions      int       `json:"questions"`
	Lost           int       `json:"lost"`
	OutOfOrder     int       `json:"out_of_order"`
	Wrong          int       `json:"wrong"`
	Doubled        int       `json:"doubled"`
	MostAtOneKill  int       `json:"most_at_one_kill"` // doubled, with previews left behind
	LeftPreviews   int       `json:"left_previews"`
	OpenSends      int       `json:"open_sends"`
	GivenUp        int       `json:"given_up"`
	Failed         int       `json:"failed"`
	Effects        int       `json:"unsafe_effects"`
	Again          int       `json:"effects_again"` // of them, again after a yes to that
	Twice          int       `json:"effects_twice"`
	Unasked        int       `json:"effects_unasked"`
	TookP50MS      int64     `json:"took_p50_ms"` // from the receipt to the answer, where nothing was asked
	TookP99MS      int64     `json:"took_p99_ms"`
	TookMostMS     int64     `json:"took_most_ms"`
	Redelivered    int       `json:"redelivered,omitempty"` // updates of Telegram
	LostAcks       int       `json:"lost_acks,omitempty"`
	LostAnswers    int       `json:"lost_answers,omitempty"` // of sends, on Discord; and how its gateway was reached
	Identifies     int       `json:"identifies,omitempty"`
	Resumes        int       `json:"resumes,omitempty"`
	RefusedResumes int       `json:"refused_resumes,omitempty"`
	RSSMB          float64   `json:"rss_mb"`
	PeakMB         float64   `json:"peak_mb"`
	Goroutines     int       `json:"goroutines"`
	Descriptors    int       `json:"descriptors"`
}

func (s *soak) figures(v verdict, u usage) figures {
	const mb = 1 << 20
	kills := 0
	for _, k := range s.kills {
		if !k.drained {
			kills++
		}
	}
	f := figures{
		Date: time.Now().UTC().Truncate(time.Second), Commit: s.commit, Platform: s.name, Go: runtime.Version(), Cores: runtime.NumCPU(), Seed: s.seed, Seconds: s.length.Seconds(),
		Kills: kills, Drains: s.terms, Conversations: len(v.places), Messages: v.messages, Answers: v.answers, Stopped: v.stopped, Questions: v.questions,
		Lost: v.lost, OutOfOrder: v.outOfOrder, Wrong: v.wrong, Doubled: v.doubled, MostAtOneKill: v.mostAtOneKill, LeftPreviews: v.leftPreviews, OpenSends: v.openSends,
		GivenUp: v.givenUp, Failed: v.failed, Effects: v.effects, Again: v.again, Twice: v.twice, Unasked: v.unasked,
		TookP50MS: v.tookP50, TookP99MS: v.tookP99, TookMostMS: v.tookMost,
		RSSMB: float64(u.rss) / mb, PeakMB: float64(u.peak) / mb, Goroutines: u.goroutines, Descriptors: u.descriptors,
	}
	s.platform.count(&f)
	return f
}

// String is one line.
func (f figures) String() string {
	return fmt.Sprintf("%s, seed %d, %.0f s, %d kills, %d SIGTERMs, %d conversations: %d messages, %d answers, %d stopped, %d questions; "+
		"lost %d, out of order %d, wrong %d, doubled %d (at most %d at one kill; %d sends were open), previews left behind %d, given up %d, failed %d; "+
		"%d unsafe effects, %d of them again as told, %d twice, %d unasked; answers took %d ms (p99 %d, at most %d); %s; "+
		"RSS %.1f MiB (peak %.1f), %d goroutines, %d descriptors",
		f.Platform, f.Seed, f.Seconds, f.Kills, f.Drains, f.Conversations, f.Messages, f.Answers, f.Stopped, f.Questions,
		f.Lost, f.OutOfOrder, f.Wrong, f.Doubled, f.MostAtOneKill, f.OpenSends, f.LeftPreviews, f.GivenUp, f.Failed,
		f.Effects, f.Again, f.Twice, f.Unasked, f.TookP50MS, f.TookP99MS, f.TookMostMS, f.network(), f.RSSMB, f.PeakMB, f.Goroutines, f.Descriptors)
}

// network is what it did.
func (f figures) network() string {
	if f.Identifies > 0 {
		return fmt.Sprintf("%d answers of sends lost, %d sessions begun, %d resumed, %d resumes refused", f.LostAnswers, f.Identifies, f.Resumes, f.RefusedResumes)
	}
	return fmt.Sprintf("%d updates came again, %d acknowledgements lost", f.Redelivered, f.LostAcks)
}

// keep adds the line to the history, if somebody asked for this soak.
func (f figures) keep(t *testing.T) {
	t.Helper()
	if os.Getenv("CHAOS") == "" {
		return
	}
	line, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile("history.jsonl", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}

// commit is the one that is checked out, with a + if files were changed since.
func commit() string {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-c", "safe.directory=*"}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	id, err := git("rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changed, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || changed != "" {
		id += "+"
	}
	return id
}

// evidence is gathered when nothing moves any more.
func (s *soak) evidence(t *testing.T) evidence {
	t.Helper()
	e := evidence{people: s.people, sent: map[string][]shown{}, posts: s.platform.wire().posts, doubles: s.platform.doubles(), kills: s.kills, effects: s.tools.effects,
		rows: readRows(t, filepath.Join(s.gateway.dir, "dragoman-data", "dragoman.db"))}
	for _, p := range s.people {
		e.sent[p.room] = s.platform.shows(p.room)
	}
	return e
}

// complain tells what else was seen: by the model, and in the log.
func (s *soak) complain(t *testing.T, v verdict) {
	t.Helper()
	for _, fault := range few(slices.Concat(s.platform.wire().faults, s.mind.faults, s.tools.faults)) {
		t.Error(fault)
	}
	for text, n := range s.mind.odd {
		t.Logf("the model was told %d times: %.150q", n, text)
	}
	log, err := os.ReadFile(s.gateway.output.Name())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(log)) {
		var l struct{ Level, Msg, Kind string }
		if json.Unmarshal([]byte(line), &l) == nil {
			seen[l.Level+" "+l.Msg+" "+l.Kind]++
		}
		if strings.Contains(line, "panic") || strings.Contains(line, "goroutine ") {
			t.Errorf("in the log: %.500s", line)
		}
	}
	var lines []string
	for what, n := range seen {
		lines = append(lines, fmt.Sprintf("%d × %s", n, what))
	}
	slices.Sort(lines)
	t.Logf("the log:\n%s", strings.Join(lines, "\n"))
	if v.givenUp > 0 {
		t.Logf("%d turns were given up because processes died too often", v.givenUp)
	}
}
