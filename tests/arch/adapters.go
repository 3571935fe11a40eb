package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// kits are the port kinds that need a conformance test, each with its kit. An
// adapter declares one by a guard: var _ ports.ModelPort = (*Model)(nil).
var kits = map[string]string{
	"ChannelPort": "tests/channeltest",
	"ToolSource":  "tests/toolsourcetest",
	"ModelPort":   "tests/modeltest",
	"Turns":       "tests/storetest",
}

// kindless are the adapters that implement none of the port kinds: they serve
// the gateway to somebody, or are a server of their own.
var kindless = []string{"admin", "control", "desk", "mcpserver"}

// adapter is one folder of adapters.
type adapter struct {
	name  string
	files []*File
}

func (r *Repo) adapters() []adapter {
	byName := map[string][]*File{}
	for _, f := range r.Files {
		if name, ok := adapterOf(f.Dir); ok {
			byName[name] = append(byName[name], f)
		}
	}
	var all []adapter
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		all = append(all, adapter{name: name, files: byName[name]})
	}
	return all
}

// adapterOf is the name of the adapter that a folder belongs to; adapters/internal is none.
func adapterOf(dir string) (string, bool) {
	rest, ok := strings.CutPrefix(dir, "adapters/")
	name, _, _ := strings.Cut(rest, "/")
	return name, ok && name != "internal"
}

// kinds are the port kinds that the adapter's guards name, sorted.
func (a adapter) kinds(r *Repo) []string {
	found := map[string]bool{}
	for _, f := range a.files {
		if f.Test {
			continue
		}
		for _, d := range f.syntax.Decls {
			for _, spec := range guards(d) {
				for _, s := range f.uses(spec.Type, r.Module+"/ports", slices.Collect(maps.Keys(kits))...) {
					found[s.Sel.Name] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// guards are the specs "_ T = …" of a declaration.
func guards(d ast.Decl) []*ast.ValueSpec {
	decl, ok := d.(*ast.GenDecl)
	if !ok || decl.Tok != token.VAR {
		return nil
	}
	var found []*ast.ValueSpec
	for _, s := range decl.Specs {
		if v, ok := s.(*ast.ValueSpec); ok && v.Type != nil && v.Names[0].Name == "_" {
			found = append(found, v)
		}
	}
	return found
}

func checkPortKind(r *Repo) []Fault {
	var faults []Fault
	for _, a := range r.adapters() {
		if len(a.kinds(r)) == 0 && !slices.Contains(kindless, a.name) {
			faults = append(faults, Fault{Where: "adapters/" + a.name,
				What: "no guard names a port kind, as in: var _ ports.ChannelPort = (*Channel)(nil)"})
		}
	}
	return faults
}

func checkConformance(r *Repo) []Fault {
	var faults []Fault
	for _, a := range r.adapters() {
		imported := map[string]bool{}
		for _, f := range a.files {
			if !strings.HasSuffix(f.Path, "/conformance_test.go") {
				continue
			}
			for _, i := range f.Imports {
				imported[i.Path] = true
			}
		}
		for _, kind := range a.kinds(r) {
			if kit := kits[kind]; !imported[r.Module+"/"+kit] {
				faults = append(faults, Fault{Where: "adapters/" + a.name,
					What: fmt.Sprintf("it is a %s, but no conformance_test.go uses %s", kind, kit)})
			}
		}
	}
	return faults
}

// checkWired finds nothing in a repository without the command: there is
// nothing to be wired to.
func checkWired(r *Repo) []Fault {
	var command, wire []string
	for _, f := range r.Files {
		if f.Dir != "cmd/dragoman" || f.Test {
			continue
		}
		command = append(command, f.Path)
		for _, i := range f.Imports {
			command = append(command, i.Path)
			if f.Path == "cmd/dragoman/wire.go" {
				wire = append(wire, i.Path)
			}
		}
	}
	if len(command) == 0 {
		return nil
	}
	var faults []Fault
	for _, a := range r.adapters() {
		imports, where := wire, "cmd/dragoman/wire.go"
		if len(a.kinds(r)) == 0 {
			imports, where = command, "cmd/dragoman"
		}
		named := func(imported string) bool { return within(imported, r.Module+"/adapters/"+a.name) }
		if !slices.ContainsFunc(imports, named) {
			faults = append(faults, Fault{Where: "adapters/" + a.name, What: "not imported by " + where})
		}
	}
	return faults
}
