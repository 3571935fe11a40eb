package demo

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"dragoman/ports"
)

// catalog is the tools with what their words weigh.
type catalog struct {
	tools []tool
	rare  map[string]float64 // inverse document frequency by stem
}

// tool is a tool with the words by which it is found.
type tool struct {
	ports.ToolSpec
	params   params
	inName   map[string]bool
	inText   map[string]bool // title and description
	inParams map[string]bool
}

// How much a word counts by where it is found.
const (
	nameWeight  = 3.0
	paramWeight = 1.2
	textWeight  = 1.0
	alikeWeight = 0.6 // a word that means about the same
)

// The measures of a clear choice.
const (
	leastCovered = 0.4  // of the message's words, by weight
	leastMargin  = 1.05 // over the second best
)

// searchTool is the gateway's tool that finds others, where there are too many to be
// shown.
const searchTool = "find_tools"

// searches reports whether there are more tools than are shown.
func (c catalog) searches() bool {
	return slices.ContainsFunc(c.tools, func(t tool) bool { return t.Name == searchTool })
}

func newCatalog(specs []ports.ToolSpec) catalog {
	c := catalog{rare: map[string]float64{}}
	count := map[string]int{}
	for _, spec := range specs {
		t := tool{
			ToolSpec: spec,
			params:   readParams(spec.InputSchema),
			inName:   set(words(shortName(spec.Name))),
			inText:   set(words(spec.Title + " " + spec.Description)),
			inParams: map[string]bool{},
		}
		for _, p := range t.params {
			for _, w := range words(p.name) {
				t.inParams[w] = true
			}
		}
		c.tools = append(c.tools, t)
		for w := range merged(t.inName, t.inText, t.inParams, set(words(spec.Name))) {
			count[w]++
		}
	}
	for w, n := range count {
		c.rare[w] = math.Log(1 + float64(len(specs))/float64(n))
	}
	return c
}

func (t tool) required() params {
	var out params
	for _, p := range t.params {
		if p.required {
			out = append(out, p)
		}
	}
	return out
}

// shortName is a tool's name without its server's.
func shortName(name string) string {
	if _, short, ok := strings.Cut(name, "__"); ok && short != "" {
		return short
	}
	return name
}

// candidate is a tool with how well it fits a message.
type candidate struct {
	tool
	score   float64
	args    map[string]any
	missing params
}

// choose picks the tool that a message speaks of and calls it, or says what it
// lacks.
func choose(text string, c catalog) decision {
	m := readMessage(text)
	var found []candidate
	for _, t := range c.tools {
		if fit := c.fit(m, t); fit.score > 0 && t.Name != searchTool {
			found = append(found, fit)
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	switch {
	case len(found) == 0 && c.searches():
		query, _ := json.Marshal(map[string]string{"query": text})
		return decision{call: &ports.Call{Name: searchTool, Arguments: query}}
	case len(found) == 0:
		return decision{text: sayLost(c)}
	case len(found) > 1 && found[0].score < leastMargin*found[1].score:
		return decision{text: sayChoice(found[:min(3, len(found))])}
	}
	best := found[0]
	if len(best.missing) > 0 {
		return decision{text: sayForm(best.tool, best.args, best.missing)}
	}
	raw, err := json.Marshal(best.args)
	if err != nil {
		return decision{text: sayForm(best.tool, nil, best.required())}
	}
	return decision{call: &ports.Call{Name: best.Name, Arguments: raw}}
}

// fit scores a tool: words in common, the rare ones more; then whether its
// parameters take up what the message names.
func (c catalog) fit(m message, t tool) candidate {
	var score, covered, total float64
	named := map[string]bool{}
	for _, w := range m.words {
		weight, hit := t.weigh(w)
		rare := c.weight(w)
		if weight > 0 {
			rare = c.rare[hit]
			named[hit] = t.inName[hit]
			score += weight * rare
		}
		if m.hints[w] {
			continue
		}
		total += rare
		if weight > 0 {
			covered += rare
		}
	}
	// "echo good morning": what follows the tool's word is not for it to know.
	told := t.inName[m.first] && t.takesOneText()
	if score == 0 || !told && total > 0 && covered/total < leastCovered {
		return candidate{tool: t}
	}
	if n := len(t.inName); n > 0 {
		hits := 0
		for _, in := range named {
			if in {
				hits++
			}
		}
		score *= 0.5 + 0.5*float64(hits)/float64(n)
	}
	args, missing, used := fill(m, t)
	switch {
	case used > 0:
		score *= 1 + 0.6*float64(min(used, 2))
	case m.strong() > 0:
		score *= 0.3
	}
	if len(missing) > 0 {
		score *= 0.4
	}
	if strings.Contains(strings.ToLower(t.Description), "deprecated") {
		score *= 0.3
	}
	return candidate{tool: t, score: score, args: args, missing: missing}
}

// weigh is how much a word of the message says for the tool, and by which of
// the tool's own words.
func (t tool) weigh(w string) (weight float64, hit string) {
	for i, form := range append([]string{w}, alike[w]...) {
		factor := 1.0
		if i > 0 {
			factor = alikeWeight
		}
		at := 0.0
		switch {
		case t.inName[form]:
			at = nameWeight
		case t.inParams[form]:
			at = paramWeight
		case t.inText[form]:
			at = textWeight
		}
		if at*factor > weight {
			weight, hit = at*factor, form
		}
	}
	return weight, hit
}

// weight of a word that no tool knows is the highest: it is what the message is
// about, and nobody here can do it.
func (c catalog) weight(w string) float64 {
	if rare, ok := c.rare[w]; ok {
		return rare
	}
	return math.Log(1 + float64(max(1, len(c.tools))))
}

func set(list []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range list {
		out[w] = true
	}
	return out
}

func merged(sets ...map[string]bool) map[string]bool {
	out := map[string]bool{}
	for _, s := range sets {
		for w := range s {
			out[w] = true
		}
	}
	return out
}
