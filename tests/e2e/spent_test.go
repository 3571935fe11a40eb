package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// spentLine is a line of dragoman usage --json.
type spentLine struct {
	Key         string
	Name        string
	Requests    int
	Input       int
	CachedInput int `json:"cached_input"`
	CacheWrite  int `json:"cache_write"`
	Output      int
	Cost        float64 `json:"cost_usd"`
	Unpriced    int
}

func spentBy(t *testing.T, g *gateway, args ...string) []spentLine {
	t.Helper()
	out, stderr, code := g.CLI(append([]string{"usage", "--json"}, args...)...)
	var list []spentLine
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 {
		t.Fatalf("dragoman usage %v: exit %d, %v\n%s%s", args, code, err, out, stderr)
	}
	return list
}

// What was spent is listed by every word, the same beside a gateway that runs and
// after it.
func TestWhatWasSpentIsListed(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, says("q-one", "Answer one."))
	config := terminalConfig(mock, `, "agents": {"main": {}, "other": {}}`)
	g := newGateway(t, gatewayBinary(t), config)
	if out, stderr, code := g.CLI("usage"); code != 0 || !strings.HasPrefix(out, "No model was asked since 20") {
		t.Errorf("before anything: exit %d, %s%s", code, out, stderr)
	}
	if out, _, _ := g.CLI("usage", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("before anything --json says %s", out)
	}
	g.Start()
	waitSocket(t, g)
	for _, agent := range []string{"main", "main", "other"} {
		if out, errs, code := pipe(g, "q-one\n", "--agent", agent); code != 0 || out != "Answer one.\n" {
			t.Fatalf("exit %d, %s%s", code, out, errs)
		}
	}
	check := func(when string) {
		t.Helper()
		for by, want := range map[string][]string{"day": nil, "model": {"main"}, "agent": {"main", "other"}, "chat": nil, "person": nil, "turn": nil} {
			list := spentBy(t, g, "--by", by)
			requests := 0
			for i, l := range list {
				requests += l.Requests
				if _, err := time.Parse(time.DateOnly, l.Key); (err == nil) != (by == "day") {
					t.Errorf("%s, by %s: the key %q", when, by, l.Key)
				}
				if l.Input == 0 || l.Output == 0 || l.Unpriced != l.Requests || l.Cost != 0 || want != nil && l.Key != want[i] {
					t.Errorf("%s, by %s: %+v", when, by, l)
				}
			}
			if requests != 3 || want != nil && len(list) != len(want) || by == "turn" && len(list) != 3 {
				t.Errorf("%s, by %s: %+v", when, by, list)
			}
		}
		out, stderr, code := g.CLI("usage", "--by", "agent", "--days", "1")
		for _, want := range []string{"AGENT", "REQUESTS", "UNPRICED", "\nmain ", "\nother ", "\nall "} {
			if code != 0 || !strings.Contains(out, want) {
				t.Errorf("%s: exit %d, without %q: %s%s", when, code, want, out, stderr)
			}
		}
	}
	check("beside a gateway")
	g.Term()
	check("after it")
	for _, args := range [][]string{{"--days", "0"}, {"--by", "moon"}, {"today"}} {
		if _, stderr, code := g.CLI(append([]string{"usage"}, args...)...); code != 2 || stderr == "" {
			t.Errorf("usage %v: exit %d, %s", args, code, stderr)
		}
	}
}

// A cap on money that a model's unknown price keeps from being reckoned with is
// told before anybody is refused for it.
func TestCheckTellsOfModelsWithoutAPriceWhereThereAreCaps(t *testing.T) {
	t.Parallel()
	config := `{
  "models": {
    "unknown": {"type": "openai", "model": "nobody-knows-it", "base_url": "http://127.0.0.1:9/v1"},
    "unused": {"type": "openai", "model": "nobody-knows-it", "base_url": "http://127.0.0.1:9/v1"}
  },
  "agents": {"main": {"models": ["unknown"]}},
  "limits": {CAPS}
}`
	g := newGateway(t, gatewayBinary(t), strings.Replace(config, "CAPS", `"spend": {"person_daily": 0.05}`, 1))
	const want = "warning: dragoman.json:3:16: models.unknown.price: is not known, and with limits.spend no agent may ask"
	if out, stderr, code := g.CLI("check"); code != 0 || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "warning") != 1 || !strings.Contains(out, "is good") {
		t.Errorf("exit %d, %s%s", code, out, stderr)
	}
	if err := os.WriteFile(filepath.Join(g.Dir, "dragoman.json"), []byte(strings.Replace(config, "CAPS", "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := g.CLI("check"); code != 0 || stderr != "" {
		t.Errorf("without caps: exit %d, %s", code, stderr)
	}
}

// With a cap a model whose price is not known is not asked, and the person reads why.
func TestWithACapAModelWithoutAPriceIsNotAsked(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, says("q-one", "Answer one."))
	config := strings.Replace(terminalConfig(mock, `, "limits": {"spend": {"total_daily": "${CAP:-1}"}}`), `"m"`, `"nobody-knows-it"`, 1)
	g := startHeadless(t, config)
	if out, errs, code := pipe(g, "q-one\n"); code != 1 || !strings.Contains(errs, "There is a spending limit, but the price of the language model is not known") {
		t.Errorf("exit %d, and it says %s%s", code, out, errs)
	}
	if list := spentBy(t, g); len(list) != 0 {
		t.Errorf("something was spent: %+v", list)
	}
	g.WaitLine(`"price_unknown".*models.main.price: is not known`, answerWithin) // and the admin, at the start
}
