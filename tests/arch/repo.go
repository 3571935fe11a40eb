package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Repo is a repository as the rules see it.
type Repo struct {
	Module string
	Files  []*File           // Go files of the module's packages, whatever platform they are for
	Texts  map[string]string // all text files, by path from the root
}

// File is a parsed Go file.
type File struct {
	Path    string // from the root, with slashes
	Dir     string // its package's folder
	Test    bool   // a _test.go file
	Lines   int
	Imports []Import

	syntax *ast.File
	fset   *token.FileSet
}

// Import is one import of a file.
type Import struct {
	Path string
	Name string // what it is called in the file
	Line int
}

// Load reads the repository at root: its packages by the go command, its texts
// by walking. Packages need not compile, but must parse.
func Load(root string) (*Repo, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r := &Repo{Texts: map[string]string{}}
	if err := r.loadPackages(root); err != nil {
		return nil, fmt.Errorf("packages: %w", err)
	}
	if err := r.loadTexts(root); err != nil {
		return nil, fmt.Errorf("texts: %w", err)
	}
	return r, nil
}

func (r *Repo) loadPackages(root string) error {
	cmd := exec.Command("go", "list", "-e", "-json", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir                                                          string
			Module                                                       struct{ Path string }
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
			InvalidGoFiles                                               []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		r.Module = p.Module.Path
		files := slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles, p.InvalidGoFiles)
		slices.Sort(files)
		for _, name := range slices.Compact(files) {
			full := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, full)
			if err != nil {
				return err
			}
			if err := r.add(filepath.ToSlash(rel), source); err != nil {
				return err
			}
		}
	}
}

// add parses a Go file.
func (r *Repo) add(name string, source []byte) error {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &File{
		Path:   name,
		Dir:    path.Dir(name),
		Test:   strings.HasSuffix(name, "_test.go"),
		Lines:  bytes.Count(source, []byte("\n")),
		syntax: syntax,
		fset:   fset,
	}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		called := path.Base(imported)
		if spec.Name != nil {
			called = spec.Name.Name
		}
		f.Imports = append(f.Imports, Import{Path: imported, Name: called, Line: f.line(spec)})
	}
	r.Files = append(r.Files, f)
	return nil
}

// loadTexts reads every file that is no binary, except what tools put there.
func (r *Repo) loadTexts(root string) error {
	return filepath.WalkDir(root, func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "dragoman-data"}, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			return nil
		}
		rel, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		r.Texts[filepath.ToSlash(rel)] = string(text)
		return nil
	})
}

// own cuts the module off an import path: "core/agent". false: not of this module.
func (r *Repo) own(imported string) (string, bool) {
	return strings.CutPrefix(imported, r.Module+"/")
}

// library reports whether an import is neither of this module nor of the
// standard library, whose paths have no dot in their first element.
func (r *Repo) library(imported string) bool {
	if _, own := r.own(imported); own {
		return false
	}
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".")
}

func (f *File) line(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

// uses finds where an expression pkg.name stands in n, for the package imported
// as path, whatever the file calls it.
func (f *File) uses(n ast.Node, imported string, names ...string) []*ast.SelectorExpr {
	var found []*ast.SelectorExpr
	for _, i := range f.Imports {
		if i.Path != imported {
			continue
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && isIdent(s.X, i.Name) && slices.Contains(names, s.Sel.Name) {
				found = append(found, s)
			}
			return true
		})
	}
	return found
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
