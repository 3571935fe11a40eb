package crash

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dragoman/adapters/builtin"
	"dragoman/adapters/mcp"
	"dragoman/adapters/openai"
	"dragoman/adapters/sqlstore"
	"dragoman/adapters/telegram"
	"dragoman/ports"
)

const portsFolder = "../../ports"

// interfaces are those of ports, all of them.
var interfaces = map[string]reflect.Type{
	"Admin": reflect.TypeFor[ports.Admin](), "Artifacts": reflect.TypeFor[ports.Artifacts](), "Audit": reflect.TypeFor[ports.Audit](),
	"ChannelPort": reflect.TypeFor[ports.ChannelPort](), "Checker": reflect.TypeFor[ports.Checker](), "Completer": reflect.TypeFor[ports.Completer](), "Drafter": reflect.TypeFor[ports.Drafter](),
	"Editor": reflect.TypeFor[ports.Editor](), "Fates": reflect.TypeFor[ports.Fates](), "Feed": reflect.TypeFor[ports.Feed](),
	"HTTP": reflect.TypeFor[ports.HTTP](), "Hooker": reflect.TypeFor[ports.Hooker](), "Host": reflect.TypeFor[ports.Host](), "Knower": reflect.TypeFor[ports.Knower](),
	"Leases": reflect.TypeFor[ports.Leases](), "Menu": reflect.TypeFor[ports.Menu](), "ModelDescriber": reflect.TypeFor[ports.ModelDescriber](), "ModelPort": reflect.TypeFor[ports.ModelPort](), "Opener": reflect.TypeFor[ports.Opener](),
	"PromptSource": reflect.TypeFor[ports.PromptSource](), "Questions": reflect.TypeFor[ports.Questions](), "Reactor": reflect.TypeFor[ports.Reactor](),
	"Receiver": reflect.TypeFor[ports.Receiver](), "Reconnector": reflect.TypeFor[ports.Reconnector](), "Records": reflect.TypeFor[ports.Records](),
	"Registrar": reflect.TypeFor[ports.Registrar](), "Rejoiner": reflect.TypeFor[ports.Rejoiner](), "Renderer": reflect.TypeFor[ports.Renderer](), "Reporter": reflect.TypeFor[ports.Reporter](),
	"ResourceSource": reflect.TypeFor[ports.ResourceSource](), "Terminal": reflect.TypeFor[ports.Terminal](), "ToolPort": reflect.TypeFor[ports.ToolPort](), "ToolSource": reflect.TypeFor[ports.ToolSource](),
	"Turns": reflect.TypeFor[ports.Turns](), "Uploader": reflect.TypeFor[ports.Uploader](), "Typer": reflect.TypeFor[ports.Typer](), "Usage": reflect.TypeFor[ports.Usage](),
}

// TestEveryInterfaceOfPortsIsKnownHere reads the source: one that is new must be
// listed, so that the next test asks whether a recorder hides it.
func TestEveryInterfaceOfPortsIsKnownHere(t *testing.T) {
	entries, err := os.ReadDir(portsFolder)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(portsFolder, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if _, ok := s.Type.(*ast.InterfaceType); ok {
					found = append(found, s.Name.Name)
				}
			}
			return true
		})
	}
	slices.Sort(found)
	if known := slices.Sorted(maps.Keys(interfaces)); !slices.Equal(found, known) {
		t.Errorf("ports has the interfaces %v, known here are %v", found, known)
	}
}

// TestARecorderCanDoWhatItsAdapterCan: the core asks a port for its abilities, so
// a recorder that hides one, or feigns one, would have another gateway killed.
func TestARecorderCanDoWhatItsAdapterCan(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	tg, err := telegram.New(telegram.Config{Token: "1:a", APIURL: "http://127.0.0.1", Mode: "poll", Streaming: "edit"}, log)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := mcp.New(mcp.Config{URL: "http://127.0.0.1"}, mcp.Deps{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	own := builtin.New(nil)
	for _, c := range []struct {
		name              string
		adapter, recorder any
		beside            []string // interfaces of the adapter that are recorded elsewhere, or that this gateway has no use for
	}{
		{"store", (*sqlstore.Store)(nil), (*store)(nil), []string{"Audit", "Usage"}},
		{"channel", tg, &channel{inner: tg}, []string{"Checker", "Hooker"}},
		{"model", (*openai.Model)(nil), (*model)(nil), []string{"ModelDescriber"}},
		{"MCP server", srv, recordSource("", srv, nil), nil},
		{"built-in tools", own, recordSource("", own, nil), nil},
	} {
		for name, i := range interfaces {
			can := reflect.TypeOf(c.adapter).Implements(i) && !slices.Contains(c.beside, name)
			if does := reflect.TypeOf(c.recorder).Implements(i); can != does {
				t.Errorf("%s: the adapter is a %s: %v, its recorder: %v", c.name, name, can, does)
			}
		}
	}
	for name, i := range interfaces {
		want := name == "ChannelPort" || name == "Renderer"
		if does := reflect.TypeFor[*bareChannel]().Implements(i); does != want {
			t.Errorf("the bare channel is a %s: %v", name, does)
		}
	}
	for _, name := range []string{"Receiver", "Knower", "Menu", "Reporter"} {
		if !reflect.TypeFor[*receiver]().Implements(interfaces[name]) {
			t.Errorf("the recorded receiver is no %s", name)
		}
	}
}
