package arch

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// house is a small repository that breaks no rule and has something in every room.
var house = map[string]string{
	"go.mod":                            "module dragoman",
	"ports/channel.go":                  source("ports", "context"),
	"ports/channel_test.go":             source("ports", "github.com/anyone/assert"),
	"config/load.go":                    source("config", "os", "github.com/tailscale/hujson", "github.com/go-playground/validator/v10"),
	"core/internal/guard/guard.go":      source("guard", "dragoman/ports"),
	"core/agent/turn.go":                source("agent", "dragoman/ports", "dragoman/core/internal/guard", "github.com/cenkalti/backoff/v5"),
	"core/agent/turn_test.go":           source("agent", "dragoman/adapters/sqlstore", "dragoman/tests/fake/clock") + "\nfunc wait() { synctest.Test(nil, func() { time.Sleep(1) }) }",
	"core/gateway/gateway.go":           source("gateway", "dragoman/ports", "dragoman/core/agent"),
	"adapters/internal/markdown/doc.go": source("markdown", "github.com/yuin/goldmark"),
	"adapters/telegram/channel.go": source("telegram", "dragoman/ports", "dragoman/adapters/internal/markdown", "github.com/go-telegram/bot") +
		"\nvar _ ports.ChannelPort = (*Channel)(nil)",
	"adapters/telegram/conformance_test.go": source("telegram", "dragoman/tests/channeltest", "dragoman/tests/fake/telegram"),
	"adapters/sqlstore/store.go":            source("sqlstore", "dragoman/ports", "modernc.org/sqlite") + "\nvar ( _ ports.Turns = (*Store)(nil)\n_ ports.Usage = (*Store)(nil) )",
	"adapters/sqlstore/conformance_test.go": source("sqlstore_test", "dragoman/adapters/sqlstore", "dragoman/tests/storetest"),
	"adapters/desk/serve.go":                source("desk", "github.com/mark3labs/mcp-go/server"),
	"cmd/dragoman/main.go":                  source("main", "context", "dragoman/config", "dragoman/core/gateway", "github.com/spf13/cobra") + "\nfunc init() { context.Background() }",
	"cmd/dragoman/desk.go":                  source("main", "dragoman/adapters/desk"),
	"cmd/dragoman/wire.go":                  source("main", "dragoman/adapters/telegram", "dragoman/adapters/sqlstore"),
	"tests/channeltest/kit.go":              source("channeltest", "testing", "dragoman/ports"),
	"tests/channeltest/kit_test.go":         source("channeltest", "dragoman/adapters/telegram"),
	"tests/storetest/kit.go":                source("storetest", "dragoman/ports"),
	"tests/fake/telegram/server.go":         source("telegram", "net/http", "time") + "\nfunc slow() { time.Sleep(1) }",
	"tests/examples/linechat/channel.go":    source("linechat", "dragoman/ports", "github.com/cenkalti/backoff/v5"),
	"tests/examples/servers_test.go":        source("examples", "dragoman/adapters/mcp", "dragoman/tests/toolsourcetest"),
	"tests/e2e/harness_test.go":             source("e2e", "github.com/chromedp/chromedp", "dragoman/ports", "dragoman/tests/fake/telegram"),
}

// broken are changes to the house, each with the faults that its rule, and no
// other, must find in it.
var broken = []struct {
	rule, name string
	files      map[string]string // put into the house; "" takes the file out
	want       []string
}{
	{"rooms", "a top folder of its own", map[string]string{"lib/a.go": source("lib")},
		[]string{"lib/a.go:1: the folder lib is in no room"}},
	{"rooms", "a package in core itself", map[string]string{"core/core.go": source("core")},
		[]string{"core/core.go:1: the folder core is in no room"}},

	{"floors", "ports know the config", map[string]string{"ports/a.go": source("ports", "dragoman/config")},
		[]string{"ports/a.go:3: ports must not import config"}},
	{"floors", "the config knows ports", map[string]string{"config/a.go": source("config", "dragoman/ports")},
		[]string{"config/a.go:3: config must not import ports"}},
	{"floors", "a core part knows another, the config and an adapter",
		map[string]string{"core/ask/a.go": source("ask", "dragoman/core/agent", "dragoman/config", "dragoman/adapters/telegram", "dragoman/core/gateway")},
		[]string{
			"core/ask/a.go:3: core/ask must not import core/agent",
			"core/ask/a.go:4: core/ask must not import config",
			"core/ask/a.go:5: core/ask must not import adapters/telegram",
			"core/ask/a.go:6: core/ask must not import core/gateway",
		}},
	{"floors", "the gateway knows an adapter", map[string]string{"core/gateway/a.go": source("gateway", "dragoman/adapters/sqlstore")},
		[]string{"core/gateway/a.go:3: core/gateway must not import adapters/sqlstore"}},
	{"floors", "an adapter knows the core, the config, a sibling and a kit",
		map[string]string{"adapters/telegram/deep/a.go": source("deep", "dragoman/core/agent", "dragoman/config", "dragoman/adapters/sqlstore", "dragoman/tests/channeltest")},
		[]string{
			"adapters/telegram/deep/a.go:3: adapters/telegram must not import core/agent",
			"adapters/telegram/deep/a.go:4: adapters/telegram must not import config",
			"adapters/telegram/deep/a.go:5: adapters/telegram must not import adapters/sqlstore",
			"adapters/telegram/deep/a.go:6: adapters/telegram must not import tests/channeltest",
		}},
	{"floors", "what adapters share knows an adapter", map[string]string{"adapters/internal/a/a.go": source("a", "dragoman/adapters/telegram")},
		[]string{"adapters/internal/a/a.go:3: adapters/internal must not import adapters/telegram"}},
	{"floors", "a kit knows an adapter", map[string]string{"tests/storetest/a.go": source("storetest", "dragoman/adapters/sqlstore")},
		[]string{"tests/storetest/a.go:3: tests/storetest must not import adapters/sqlstore"}},
	{"floors", "a fake knows ports", map[string]string{"tests/fake/telegram/a.go": source("telegram", "dragoman/ports")},
		[]string{"tests/fake/telegram/a.go:3: tests/fake must not import ports"}},

	{"floors", "an example leans on more than an adapter may", map[string]string{"tests/examples/linechat/a.go": source("linechat", "dragoman/core/agent", "dragoman/adapters/internal/markdown", "dragoman/tests/fake/telegram")},
		[]string{
			"tests/examples/linechat/a.go:3: tests/examples must not import core/agent",
			"tests/examples/linechat/a.go:4: tests/examples must not import adapters/internal/markdown",
			"tests/examples/linechat/a.go:5: tests/examples must not import tests/fake/telegram",
		}},

	{"test-floors", "an adapter is tested with the core", map[string]string{"adapters/telegram/a_test.go": source("telegram_test", "dragoman/core/agent", "dragoman/config")},
		[]string{
			"adapters/telegram/a_test.go:3: adapters/telegram must not import core/agent",
			"adapters/telegram/a_test.go:4: adapters/telegram must not import config",
		}},
	{"test-floors", "a core part is tested with another", map[string]string{"core/ask/a_test.go": source("ask", "dragoman/core/agent")},
		[]string{"core/ask/a_test.go:3: core/ask must not import core/agent"}},
	{"test-floors", "an example is tested with the gateway", map[string]string{"tests/examples/linechat/a_test.go": source("linechat", "dragoman/core/gateway", "dragoman/adapters/sqlstore")},
		[]string{
			"tests/examples/linechat/a_test.go:3: tests/examples must not import core/gateway",
			"tests/examples/linechat/a_test.go:4: tests/examples must not import adapters/sqlstore",
		}},
	{"test-floors", "the end-to-end tests look inside", map[string]string{"tests/e2e/a_test.go": source("e2e", "dragoman/core/agent")},
		[]string{"tests/e2e/a_test.go:3: tests/e2e must not import core/agent"}},

	{"libraries", "ports need a library", map[string]string{"ports/a.go": source("ports", "golang.org/x/sync/errgroup")},
		[]string{"ports/a.go:3: ports must not import golang.org/x/sync/errgroup"}},
	{"libraries", "the config needs one too many", map[string]string{"config/a.go": source("config", "github.com/spf13/cobra")},
		[]string{"config/a.go:3: config must not import github.com/spf13/cobra"}},
	{"libraries", "the core needs platforms",
		map[string]string{"core/outbox/a.go": source("outbox", "github.com/go-telegram/bot/models", "github.com/openai/openai-go/v3", "modernc.org/sqlite", "github.com/jackc/pgx/v5")},
		[]string{
			"core/outbox/a.go:3: core/outbox must not import github.com/go-telegram/bot/models",
			"core/outbox/a.go:4: core/outbox must not import github.com/openai/openai-go/v3",
			"core/outbox/a.go:5: core/outbox must not import modernc.org/sqlite",
			"core/outbox/a.go:6: core/outbox must not import github.com/jackc/pgx/v5",
		}},
	{"libraries", "what adapters share needs a platform", map[string]string{"adapters/internal/a/a.go": source("a", "github.com/coder/websocket")},
		[]string{"adapters/internal/a/a.go:3: adapters/internal must not import github.com/coder/websocket"}},
	{"libraries", "a kit and a fake need a library", map[string]string{"tests/channeltest/a.go": source("channeltest", "go.uber.org/goleak"), "tests/fake/b/b.go": source("b", "go.uber.org/goleak")},
		[]string{
			"tests/channeltest/a.go:3: tests/channeltest must not import go.uber.org/goleak",
			"tests/fake/b/b.go:3: tests/fake must not import go.uber.org/goleak",
		}},

	{"sdk-owners", "an adapter uses another's SDK", map[string]string{"adapters/telegram/a.go": source("telegram", "github.com/mark3labs/mcp-go/client")},
		[]string{"adapters/telegram/a.go:3: github.com/mark3labs/mcp-go/client is the SDK of mcp, mcpserver, desk, not of telegram"}},

	{"package-names", "a package named after nothing", map[string]string{"core/agent/helpers/a.go": source("helpers"), "core/ask/a.go": source("util")},
		[]string{
			"core/agent/helpers/a.go:1: package helpers in core/agent/helpers says nothing about what it is",
			"core/ask/a.go:1: package util in core/ask says nothing about what it is",
		}},

	{"no-init", "an adapter registers itself", map[string]string{"adapters/desk/a.go": source("desk") + "\nfunc init() {}\nfunc (x X) init() {}"},
		[]string{"adapters/desk/a.go:3: func init"}},

	{"no-background", "contexts from nowhere", map[string]string{"core/ask/a.go": "package ask\nimport c \"context\"\nvar x = c.Background()\nfunc f() { c.TODO() }"},
		[]string{
			"core/ask/a.go:3: context.Background: take a ctx, or context.WithoutCancel with a deadline",
			"core/ask/a.go:4: context.TODO: take a ctx, or context.WithoutCancel with a deadline",
		}},

	{"no-sleep", "a test sleeps", map[string]string{"core/ask/a_test.go": source("ask", "testing/synctest", "time") + "\nfunc a() { time.Sleep(1) }\nfunc b() { synctest.Wait(); time.Sleep(1) }"},
		[]string{"core/ask/a_test.go:7: time.Sleep outside a synctest bubble"}},
	{"no-sleep", "a loop that counts, beside one with a deadline and a peer that hangs", map[string]string{"core/ask/a_test.go": "package ask\nimport \"time\"\nfunc f() {\nfor range 3 { time.Sleep(1) }\nfor time.Now().Before(end) { time.Sleep(1) }\ntime.Sleep(time.Hour)\ntime.Sleep(2*time.Hour)\nfor { time.Sleep(1) }\n}"},
		[]string{
			"core/ask/a_test.go:4: time.Sleep outside a synctest bubble",
			"core/ask/a_test.go:7: time.Sleep outside a synctest bubble",
			"core/ask/a_test.go:8: time.Sleep outside a synctest bubble",
		}},
	{"no-sleep", "a kit sleeps, under another name", map[string]string{"tests/storetest/a.go": "package storetest\nimport t \"time\"\nvar f = func() { t.Sleep(1) }"},
		[]string{"tests/storetest/a.go:3: time.Sleep outside a synctest bubble"}},

	{"file-size", "a long file and one too long", map[string]string{
		"core/ask/a.go": source("ask") + lines(450), "core/ask/b.go": source("ask") + lines(600), "core/ask/c.go": "// Code generated by x. DO NOT EDIT.\n" + source("ask") + lines(700), "core/ask/d.go": source("ask") + lines(449)},
		[]string{"core/ask/a.go:451: 451 lines (warning)", "core/ask/b.go:601: 601 lines"}},

	{"port-kind", "an adapter without a guard", map[string]string{"adapters/telegram/channel.go": source("telegram", "dragoman/ports") + "\nvar _ ports.Editor = (*Channel)(nil)\nvar x ports.ChannelPort"},
		[]string{"adapters/telegram: no guard names a port kind, as in: var _ ports.ChannelPort = (*Channel)(nil)"}},

	{"conformance", "the kit is not run", map[string]string{"adapters/telegram/conformance_test.go": source("telegram", "dragoman/tests/storetest"), "adapters/telegram/a_test.go": source("telegram", "dragoman/tests/channeltest")},
		[]string{"adapters/telegram: it is a ChannelPort, but no conformance_test.go uses tests/channeltest"}},
	{"conformance", "no conformance test, and a second kind", map[string]string{
		"adapters/sqlstore/conformance_test.go": "", "adapters/sqlstore/model.go": source("sqlstore", "dragoman/ports") + "\nvar _ ports.ModelPort = (*Store)(nil)"},
		[]string{
			"adapters/sqlstore: it is a ModelPort, but no conformance_test.go uses tests/modeltest",
			"adapters/sqlstore: it is a Turns, but no conformance_test.go uses tests/storetest",
		}},

	{"wired", "an adapter that is named elsewhere, and one nowhere", map[string]string{
		"cmd/dragoman/wire.go": source("main", "dragoman/adapters/telegram"), "cmd/dragoman/desk.go": source("main", "dragoman/adapters/sqlstore")},
		[]string{"adapters/desk: not imported by cmd/dragoman", "adapters/sqlstore: not imported by cmd/dragoman/wire.go"}},

	{"registry-hosts", "a file names a registry", map[string]string{"Dockerfile": "FROM x\nENV GOPROXY=https://proxy." + "golang.org\n", "ports/a.go": source("ports") + "// deb." + "debian.org"},
		[]string{"Dockerfile:2: names the package registry proxy." + "golang.org", "ports/a.go:2: names the package registry deb." + "debian.org"}},
}

func TestHouseBreaksNoRule(t *testing.T) {
	r := build(t, nil)
	for _, rule := range Rules() {
		if got := found(rule, r); len(got) > 0 {
			t.Errorf("%s: %v", rule.Name, got)
		}
	}
}

func TestBrokenHouseBreaksItsRuleAlone(t *testing.T) {
	for _, c := range broken {
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			r := build(t, c.files)
			for _, rule := range Rules() {
				var want []string
				if rule.Name == c.rule {
					want = c.want
				}
				if got := found(rule, r); !slices.Equal(got, want) {
					t.Errorf("%s found\n\t%s\nwant\n\t%s", rule.Name, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
				}
			}
		})
	}
}

func TestEveryRuleCanFail(t *testing.T) {
	for _, rule := range Rules() {
		tried := false
		for _, c := range broken {
			tried = tried || c.rule == rule.Name
		}
		if !tried || rule.Why == "" {
			t.Errorf("rule %s has no reason, or no repository that breaks it", rule.Name)
		}
	}
}

func TestWiredWithoutCommand(t *testing.T) {
	r := build(t, map[string]string{"cmd/dragoman/main.go": "", "cmd/dragoman/desk.go": "", "cmd/dragoman/wire.go": ""})
	if faults := checkWired(r); len(faults) > 0 {
		t.Error(faults)
	}
}

// build is the house with some files changed.
func build(t *testing.T, changed map[string]string) *Repo {
	t.Helper()
	files := maps.Clone(house)
	maps.Copy(files, changed)
	r := &Repo{Module: "dragoman", Texts: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == "" {
			continue
		}
		r.Texts[name] = files[name]
		if path.Ext(name) != ".go" {
			continue
		}
		if err := r.add(name, []byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func found(rule Rule, r *Repo) []string {
	var got []string
	for _, f := range rule.Check(r) {
		s := f.String()
		if f.Warn {
			s += " (warning)"
		}
		got = append(got, s)
	}
	return got
}

// source is the source of a Go file: its package on line 1, its imports from line 3.
func source(name string, imports ...string) string {
	s := "package " + name + "\n"
	if len(imports) > 0 {
		s += "import (\n\"" + strings.Join(imports, "\"\n\"") + "\"\n)\n"
	}
	return s
}

func lines(n int) string { return strings.Repeat("\n", n) }
