package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

const maxFileBytes = 1 << 20 // of what ${file:…} reads

const howToExpand = "must be ${NAME}, ${NAME:-default} or ${file:PATH}; a literal ${ is written $${"

// expander puts the values of variables and files into texts.
type expander struct {
	dir string
	env func(string) (string, bool)
}

// text is s with its values put in. refs are the ${…} it had, as they are named
// in faults; wrong says what could not be put in.
func (e *expander) text(s string) (expanded string, refs, wrong []string) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		if !found {
			out.WriteString(s)
			return out.String(), refs, wrong
		}
		if literal, escaped := strings.CutSuffix(before, "$"); escaped {
			out.WriteString(literal + "${")
			s = after
			continue
		}
		out.WriteString(before)
		inner, rest, closed := strings.Cut(after, "}")
		if !closed || strings.Contains(inner, "${") {
			return "", refs, append(wrong, "has a ${ that is not closed, or one inside another ("+howToExpand+")")
		}
		value, ref, problem := e.value(inner)
		if problem != "" {
			wrong = append(wrong, problem)
		} else {
			refs = append(refs, ref)
		}
		out.WriteString(value)
		s = rest
	}
}

// value is what stands for one ${inner}.
func (e *expander) value(inner string) (value, ref, problem string) {
	if path, isFile := strings.CutPrefix(inner, "file:"); isFile {
		return e.file(path)
	}
	name, otherwise, hasDefault := strings.Cut(inner, ":-")
	if !isVariable(name) {
		return "", "", "has a ${…} without a valid name (" + howToExpand + ")"
	}
	ref = "${" + name + "}"
	var set bool
	if e.env != nil {
		value, set = e.env(name)
	}
	switch {
	case hasDefault && value == "":
		return otherwise, ref, ""
	case !set:
		return "", ref, fmt.Sprintf("uses %s, which is not set (set it in the environment, or write ${%s:-default})", ref, name)
	}
	return value, ref, ""
}

func (e *expander) file(path string) (value, ref, problem string) {
	ref = "${file:" + oneLine(path) + "}"
	content, err := readSecret(relativeTo(e.dir, path))
	if err != nil {
		return "", ref, fmt.Sprintf("uses %s, which cannot be read: %s (must be a readable text file; a relative path is relative to the config file)", ref, cause(err))
	}
	return strings.TrimSpace(string(content)), ref, ""
}

// readSecret reads a small text file. It never opens anything but a regular
// file: a pipe or a terminal would make it wait.
func readSecret(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(content) > maxFileBytes:
		return nil, fmt.Errorf("it is larger than %d bytes", maxFileBytes)
	case !utf8.Valid(content):
		return nil, errors.New("it is not text (UTF-8)")
	}
	return content, nil
}

// cause is an error without the path, which the fault names already.
func cause(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// oneLine keeps line ends and the like out of a fault.
func oneLine(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

func relativeTo(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// isVariable reports whether a name is one that shells can set (POSIX.1, 3.216 Name).
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
