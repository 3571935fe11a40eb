package arch

import (
	"go/ast"
	"path"
	"slices"
	"strings"
)

// A file's length in lines from which it is reported, and from which it fails.
const (
	longFile    = 450
	tooLongFile = 600
)

var vagueNames = []string{"util", "utils", "common", "types", "helper", "helpers", "manager", "base"}

func checkPackageNames(r *Repo) []Fault {
	var faults []Fault
	for _, f := range r.Files {
		name := strings.TrimSuffix(f.syntax.Name.Name, "_test")
		if slices.Contains(vagueNames, name) || slices.Contains(vagueNames, path.Base(f.Dir)) {
			faults = append(faults, at(f, f.line(f.syntax.Name), "package %s in %s says nothing about what it is", name, f.Dir))
		}
	}
	return faults
}

func checkNoInit(r *Repo) []Fault {
	var faults []Fault
	for _, f := range product(r) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				faults = append(faults, at(f, f.line(fn), "func init"))
			}
		}
	}
	return faults
}

func checkNoBackground(r *Repo) []Fault {
	var faults []Fault
	for _, f := range product(r) {
		for _, use := range f.uses(f.syntax, "context", "Background", "TODO") {
			faults = append(faults, at(f, f.line(use), "context.%s: take a ctx, or context.WithoutCancel with a deadline", use.Sel.Name))
		}
	}
	return faults
}

// checkNoSleep takes a function that names synctest to sleep in a bubble, and
// lets two sleeps be that wait for nothing: in a loop that looks at the clock (it
// polls with a deadline), and time.Sleep(time.Hour) (it plays a peer that hangs).
func checkNoSleep(r *Repo) []Fault {
	var faults []Fault
	for _, f := range r.Files {
		kit := strings.HasPrefix(f.Dir, "tests/") && strings.HasSuffix(room(f.Dir), "test")
		if !f.Test && !kit {
			continue
		}
		for _, d := range f.syntax.Decls {
			if len(f.uses(d, "testing/synctest", "Test", "Wait")) > 0 {
				continue
			}
			harmless := f.harmlessSleeps(d)
			for _, use := range f.uses(d, "time", "Sleep") {
				if !harmless[use] {
					faults = append(faults, at(f, f.line(use), "time.Sleep outside a synctest bubble"))
				}
			}
		}
	}
	return faults
}

func (f *File) harmlessSleeps(d ast.Decl) map[*ast.SelectorExpr]bool {
	harmless := map[*ast.SelectorExpr]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			if len(f.uses(n, "time", "Now", "Since", "Until")) > 0 {
				for _, use := range f.uses(n, "time", "Sleep") {
					harmless[use] = true
				}
			}
		case *ast.CallExpr:
			if len(n.Args) != 1 {
				break
			}
			hour := f.uses(n.Args[0], "time", "Hour")
			for _, use := range f.uses(n.Fun, "time", "Sleep") {
				harmless[use] = harmless[use] || len(hour) == 1 && n.Args[0] == hour[0]
			}
		}
		return true
	})
	return harmless
}

func checkFileSize(r *Repo) []Fault {
	var faults []Fault
	for _, f := range r.Files {
		if f.Lines > longFile && !ast.IsGenerated(f.syntax) {
			fault := at(f, f.Lines, "%d lines", f.Lines)
			fault.Warn = f.Lines <= tooLongFile
			faults = append(faults, fault)
		}
	}
	return faults
}

// checkRegistryHosts knows the hosts in halves, or it would find itself.
func checkRegistryHosts(r *Repo) []Fault {
	hosts := []string{
		"proxy." + "golang.org", "sum." + "golang.org", "gopro" + "xy.io", "gopro" + "xy.cn",
		"registry." + "npmjs.org", "registry." + "yarnpkg.com", "registry." + "npmmirror.com",
		"deb." + "debian.org", "security." + "debian.org", "archive." + "ubuntu.com",
		"files." + "pythonhosted.org", "registry-1." + "docker.io",
	}
	var faults []Fault
	for name, text := range r.Texts {
		for n, line := range strings.Split(text, "\n") {
			for _, host := range hosts {
				if strings.Contains(line, host) {
					faults = append(faults, at(&File{Path: name}, n+1, "names the package registry %s", host))
				}
			}
		}
	}
	slices.SortFunc(faults, func(a, b Fault) int { return strings.Compare(a.Where, b.Where) })
	return faults
}

// product is the code that rules about running code are for.
func product(r *Repo) []*File {
	var files []*File
	for _, f := range r.Files {
		top, _, _ := strings.Cut(f.Dir, "/")
		if !f.Test && slices.Contains([]string{"ports", "config", "core", "adapters"}, top) {
			files = append(files, f)
		}
	}
	return files
}
