package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dragoman/tests/fake/model"
)

// rollsADice is a model that has a dice rolled, and one of a config whose policy
// for that is the test's.
func rollsADice(t testing.TB) (config func(policy string) string, end func()) {
	t.Helper()
	m := model.New(model.Options{Answer: func(r model.Request) model.Reply {
		switch {
		case strings.Contains(r.Said(), "hello"):
			return model.Reply{Text: "Hello yourself."}
		case r.Last().Role == "tool":
			return model.Reply{Text: "It is rolled."}
		}
		return model.Reply{Calls: []model.Call{{Name: "desk__roll_dice", Arguments: `{"dice": "1d6"}`}}}
	}})
	return func(policy string) string {
		return `{"listen": "", "models": {"main": {"type": "openai", "base_url": ` + quoted(m.URL()) + `, "model": "m", "api_key": "${MODEL_KEY:-none}"}},
			"mcp_servers": {"desk": {"command": ` + quoted(gatewayBinary(t)) + `, "args": ["desk"]}}, "tools": {"policy": {"desk__*": ` + quoted(policy) + `}}}`
	}, m.Close
}

// turnIDs are the turns of the gateway's store, in order.
func turnIDs(t testing.TB, dir string) (ids []string) {
	t.Helper()
	db, err := openDB(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT id FROM turn ORDER BY seq`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestATurnIsReplayedOfflineAndItsRecordingElsewhere(t *testing.T) {
	t.Parallel()
	config, closeModel := rollsADice(t)
	g := startHeadless(t, config("allow"))
	g.WaitLine("mcp_server_connected", readyWithin)
	if out, errs, code := pipe(g, "hello\nroll a dice\n"); code != 0 || out != "Hello yourself.\nIt is rolled.\n" {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	ids := turnIDs(t, g.Dir)
	if len(ids) != 2 {
		t.Fatalf("the turns are %q", ids)
	}
	replayed := func(when string) {
		t.Helper()
		out, errs, code := g.CLI("replay", ids[1])
		if code != 0 || errs != "" || !strings.Contains(out, "desk__roll_dice begins") || !strings.HasSuffix(out, "same: 5 steps, answered\n") {
			t.Errorf("%s: exit %d, %s\n%s", when, code, errs, out)
		}
	}
	replayed("beside the gateway")
	g.Term()
	closeModel()
	before := dataFiles(t, g.Dir)
	replayed("with nobody there")
	if after := dataFiles(t, g.Dir); !reflect.DeepEqual(after, before) {
		t.Errorf("it made %q of %q", after, before)
	}

	out, errs, code := g.CLI("replay", ids[1], "--json", "--save", "turn.json")
	var got struct {
		Turn, Ref string
		Same      bool
		Events    []json.RawMessage
		Said      []string
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || !got.Same || got.Turn != ids[1] || len(got.Events) != 6 || len(got.Said) != 1 || got.Said[0] != "It is rolled." {
		t.Fatalf("exit %d, %v, %s\n%s", code, err, errs, out)
	}
	if !strings.Contains(errs, "It holds what people wrote") {
		t.Errorf("of the file it says %q", errs)
	}
	info, err := os.Stat(filepath.Join(g.Dir, "turn.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if _, errs, code := g.CLI("replay", got.Ref, "--save", "turn.json"); code != 1 || !strings.Contains(errs, "is there already") {
		t.Errorf("over a file: exit %d, %s", code, errs)
	}
	elsewhere := newGateway(t, gatewayBinary(t), embeddedDefault)
	text, err := os.ReadFile(filepath.Join(g.Dir, "turn.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(elsewhere.Dir, "turn.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, errs, code := elsewhere.CLI("replay", "turn.json", "--as-recorded"); code != 0 || !strings.HasSuffix(out, "same: 5 steps, answered\n") {
		t.Errorf("elsewhere: exit %d, %s\n%s", code, errs, out)
	}
	if _, err := os.Stat(filepath.Join(elsewhere.Dir, "dragoman-data")); err == nil {
		t.Error("a replay left a data folder behind")
	}
}

func dataFiles(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "dragoman-data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestAReplayRulesAsTheConfigDoesNow(t *testing.T) {
	t.Parallel()
	config, closeModel := rollsADice(t)
	defer closeModel()
	g := startHeadless(t, config("allow"))
	g.WaitLine("mcp_server_connected", readyWithin)
	if out, errs, code := pipe(g, "roll a dice\n"); code != 0 || out != "It is rolled.\n" {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	g.Term()
	turn := turnIDs(t, g.Dir)[0]
	for policy, want := range map[string]string{
		"ask":  "now:      the person is asked: May I run **desk__roll_dice**?",
		"deny": "now:      desk__roll_dice gives denied: The admin does not allow this tool.",
	} {
		text := strings.Replace(config(policy), "${MODEL_KEY:-none}", "${MODEL_KEY}", 1) // which is not set in this shell
		if err := os.WriteFile(filepath.Join(g.Dir, "dragoman.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := g.CLI("replay", turn)
		if code != 1 || errs != "" || !strings.Contains(out, "different at step 1:") || !strings.Contains(out, "recorded: desk__roll_dice begins") || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, %s\n%s", policy, code, errs, out)
		}
		if out, _, code := g.CLI("replay", turn, "--as-recorded"); code != 0 || !strings.Contains(out, "same: 5 steps") {
			t.Errorf("%s, by the rules of then: exit %d\n%s", policy, code, out)
		}
	}
}

func TestWhatCannotBeReplayedIsSaidInWords(t *testing.T) {
	t.Parallel()
	config, closeModel := rollsADice(t)
	defer closeModel()
	g := newGateway(t, gatewayBinary(t), config("allow"))
	refused := func(code int, want string, args ...string) {
		t.Helper()
		out, errs, got := g.CLI(append([]string{"replay"}, args...)...)
		if got != code || out != "" || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("replay %q: exit %d, %q, %q; want %d, %q", args, got, out, errs, code, want)
		}
	}
	refused(1, `no turn "abcdef"`, "abcdef")
	if out, errs, code := pipe(g, "hello\n/help\n"); code != 0 {
		t.Fatalf("exit %d\n%s\n%s", code, out, errs)
	}
	ids := turnIDs(t, g.Dir)
	refused(1, `no turn "abcdef"`, "abcdef")
	refused(1, "a command that was answered at receipt", ids[1])
	refused(1, `no agent "nobody"`, ids[0], "--agent", "nobody")
	refused(1, "read the recording", "none.json")
	refused(2, "usage: dragoman replay", ids[0], ids[1])
	if err := os.WriteFile(filepath.Join(g.Dir, "other.json"), []byte(`{"version": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(1, "form 7", "other.json")
	if err := os.WriteFile(filepath.Join(g.Dir, "broken.json"), []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(1, "is no recording", "broken.json")
}
