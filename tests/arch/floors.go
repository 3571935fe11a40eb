package arch

import (
	"path"
	"slices"
	"strings"
)

// floor says what the packages of a room may import. Rooms are path.Match
// patterns over cmd, ports, config and the two first elements of everything
// else. A room may always import itself and the standard library.
type floor struct {
	room      string
	uses      []string               // rooms of this module
	libraries func(path string) bool // of others
	testUses  []string               // rooms that its tests may import; their libraries are free
}

// floors is searched from the top; the first match counts.
var floors = []floor{
	{"cmd", []string{"*", "*/*"}, anyLibrary, []string{"*", "*/*"}},
	{"core/gateway", []string{"ports", "core/*"}, smallLibrary, []string{"ports", "core/*", "adapters/*", "tests/*"}},
	{"core/*", []string{"ports", "core/internal"}, smallLibrary, []string{"ports", "core/internal", "adapters/*", "tests/*"}},
	{"adapters/desk", []string{"ports"}, anyLibrary, []string{"ports", "adapters/mcp", "tests/*"}}, // a server, tried by our own client
	{"adapters/internal", []string{"ports"}, smallLibrary, []string{"ports", "tests/*"}},
	{"adapters/*", []string{"ports", "adapters/internal"}, anyLibrary, []string{"ports", "adapters/internal", "tests/*"}},
	{"ports", nil, noLibrary, []string{"tests/*"}},
	{"config", nil, configLibrary, nil},
	{"tests/*test", []string{"ports"}, noLibrary, []string{"ports", "adapters/*", "tests/*"}},
	{"tests/fake", nil, socketLibrary, []string{"tests/*"}},
	{"tests/arch", nil, noLibrary, nil},
	{"tests/crash", nil, noLibrary, []string{"ports", "config", "core/*", "adapters/*", "tests/*"}},                   // a whole gateway in a process of its own, to be killed
	{"tests/conformance", []string{"ports", "adapters/mcp"}, noLibrary, []string{"ports", "adapters/mcp", "tests/*"}}, // our client, played by the official suite
	{"tests/examples", []string{"ports"}, anyLibrary, []string{"ports", "adapters/mcp", "tests/*"}},                   // an adapter that is not shipped, and MCP servers
	{"tests/bench", []string{"ports", "adapters/mcp", "tests/*"}, anyLibrary, []string{"ports", "tests/*"}},           // its calls are held against the library's
	{"tests/*", []string{"ports", "tests/*"}, anyLibrary, []string{"ports", "tests/*"}},                               // these drive the binary
}

// sdks are the libraries that stand for a platform, a wire or a surface, with
// the adapters that may know them. The core may know none.
var sdks = []struct {
	prefix string
	owners []string
}{
	{"github.com/go-telegram/bot", []string{"telegram"}},
	{"github.com/bwmarrin/discordgo", []string{"discord"}},
	{"github.com/disgoorg", []string{"discord"}},
	{"github.com/slack-go/slack", []string{"slack"}},
	{"github.com/mark3labs/mcp-go", []string{"mcp", "mcpserver", "desk"}},
	{"github.com/modelcontextprotocol/go-sdk", []string{"mcp", "mcpserver", "desk"}},
	{"github.com/openai/openai-go", nil}, // the tests are held against it
	{"github.com/sashabaranov/go-openai", []string{"openai"}},
	{"github.com/anthropics/anthropic-sdk-go", nil}, // as above
	{"google.golang.org/genai", []string{"gemini"}},
	{"modernc.org", []string{"sqlstore"}},
	{"github.com/mattn/go-sqlite3", []string{"sqlstore"}},
	{"github.com/jackc/pgx", []string{"sqlstore"}},
	{"github.com/pressly/goose", []string{"sqlstore"}},
	{"github.com/coder/websocket", []string{"web", "discord"}},
	{"github.com/spf13/cobra", nil},
	{"github.com/lmittmann/tint", nil},
	{"github.com/chromedp", nil},
}

func anyLibrary(string) bool { return true }
func noLibrary(string) bool  { return false }

// socketLibrary is for fakes that speak WebSocket, which the standard library does not.
func socketLibrary(imported string) bool { return within(imported, "github.com/coder/websocket") }

func configLibrary(imported string) bool {
	return within(imported, "github.com/tailscale/hujson") || within(imported, "github.com/go-playground/validator/v10") || within(imported, "github.com/invopop/jsonschema")
}

func smallLibrary(imported string) bool {
	for _, s := range sdks {
		if within(imported, s.prefix) {
			return false
		}
	}
	return true
}

func checkRooms(r *Repo) []Fault {
	var faults []Fault
	for _, f := range r.Files {
		if floorOf(f.Dir) == nil {
			faults = append(faults, at(f, 1, "the folder %s is in no room", f.Dir))
		}
	}
	return faults
}

func checkFloors(r *Repo) []Fault {
	return checkOwnImports(r, false, func(fl *floor) []string { return fl.uses })
}

func checkTestFloors(r *Repo) []Fault {
	return checkOwnImports(r, true, func(fl *floor) []string { return fl.testUses })
}

func checkOwnImports(r *Repo, tests bool, allowed func(*floor) []string) []Fault {
	var faults []Fault
	for _, f := range r.Files {
		fl := floorOf(f.Dir)
		if fl == nil || f.Test != tests {
			continue
		}
		for _, i := range f.Imports {
			dir, own := r.own(i.Path)
			if !own || room(dir) == room(f.Dir) || matchesAny(allowed(fl), room(dir)) {
				continue
			}
			faults = append(faults, at(f, i.Line, "%s must not import %s", room(f.Dir), dir))
		}
	}
	return faults
}

func checkLibraries(r *Repo) []Fault {
	var faults []Fault
	for _, f := range r.Files {
		fl := floorOf(f.Dir)
		if fl == nil || f.Test {
			continue
		}
		for _, i := range f.Imports {
			if r.library(i.Path) && !fl.libraries(i.Path) {
				faults = append(faults, at(f, i.Line, "%s must not import %s", room(f.Dir), i.Path))
			}
		}
	}
	return faults
}

func checkSDKOwners(r *Repo) []Fault {
	var faults []Fault
	for _, f := range r.Files {
		adapter, ok := adapterOf(f.Dir)
		if !ok || f.Test {
			continue
		}
		for _, i := range f.Imports {
			for _, s := range sdks {
				if within(i.Path, s.prefix) && !slices.Contains(s.owners, adapter) {
					faults = append(faults, at(f, i.Line, "%s is the SDK of %s, not of %s", i.Path, strings.Join(s.owners, ", "), adapter))
				}
			}
		}
	}
	return faults
}

// room is the part of a folder that floors speak of.
func room(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	if len(parts) == 1 || slices.Contains([]string{"cmd", "ports", "config"}, parts[0]) {
		return parts[0]
	}
	return parts[0] + "/" + parts[1]
}

// floorOf is nil for a folder in no room.
func floorOf(dir string) *floor {
	for i := range floors {
		if matchesAny([]string{floors[i].room}, room(dir)) {
			return &floors[i]
		}
	}
	return nil
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// within reports whether an import path is the module or in it, whatever its
// major version.
func within(imported, prefix string) bool {
	return imported == prefix || strings.HasPrefix(imported, prefix+"/")
}
