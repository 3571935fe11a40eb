package toolschema

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
)

// refs follows the references of one document.
type refs struct {
	root  map[string]any
	loops map[string]bool // what looping found
	work  int
}

// resolve follows a reference within the document (RFC 6901, in a fragment), nil
// if it leads nowhere or abroad.
func (r *refs) resolve(ref string) any {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	path, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	if path == "" {
		return r.root
	}
	path, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil // an anchor
	}
	var at any = r.root
	for part := range strings.SplitSeq(path, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// refAlone reports whether the document is of a draft in which what stands
// beside a $ref does not count.
func (r *refs) refAlone() bool {
	dialect, _ := r.root["$schema"].(string)
	return strings.Contains(dialect, "draft-0")
}

// definition splits a reference to one of the root's definitions.
func (r *refs) definition(ref string) (keyword, name string, ok bool) {
	for _, keyword := range []string{"$defs", "definitions"} {
		name, ok := strings.CutPrefix(ref, "#/"+keyword+"/")
		if !ok || strings.ContainsAny(name, "/~%") {
			continue
		}
		if all, _ := r.root[keyword].(map[string]any); all != nil {
			_, ok = all[name].(map[string]any)
			return keyword, name, ok
		}
	}
	return "", "", false
}

// looping reports whether a reference leads back to itself without going into a
// value: whoever followed it would never come to an end. It says so as well of
// what takes too long to find out.
func (r *refs) looping(ref string) bool {
	known, ok := r.loops[ref]
	if !ok {
		if r.loops == nil {
			r.loops = map[string]bool{}
		}
		known = r.leadsBack(ref)
		r.loops[ref] = known
	}
	return known
}

func (r *refs) leadsBack(ref string) bool {
	seen := map[string]bool{}
	next := r.applied(nil, r.resolve(ref), 0)
	for len(next) > 0 {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		if at == ref || r.work > maxWork {
			return true
		}
		if !seen[at] {
			seen[at] = true
			next = r.applied(next, r.resolve(at), 0)
		}
	}
	return r.work > maxWork
}

// maxWork bounds the search for loops in one document, in schemas looked at.
const maxWork = 100_000

// applied adds the references that a schema applies to the same value.
func (r *refs) applied(found []string, v any, depth int) []string {
	s, _ := v.(map[string]any)
	if r.work++; depth > maxForms || r.work > maxWork {
		return found
	}
	if ref, ok := s["$ref"].(string); ok {
		found = append(found, ref)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		for _, branch := range list(s[key]) {
			found = r.applied(found, branch, depth+1)
		}
	}
	return found
}

// annotationsOf is what a schema says without demanding anything.
func annotationsOf(s map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range []string{"title", "description", "default", "examples"} {
		if v, ok := s[key]; ok {
			out[key] = v
		}
	}
	return out
}

func without(s map[string]any, key string) map[string]any {
	out := maps.Clone(s)
	delete(out, key)
	return out
}
