package toolbox

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// fields of a tool's definition, by how much a word there tells of what it does.
const (
	inName = iota
	inTitle
	inSummary // the first line of the description
	inServer
	inParams // names of parameters
	inText   // the rest of the description
	inHints  // descriptions of parameters
	fields
)

// weights and norms are the fields' parts of BM25F: what a word there counts, and
// how much a longer text takes from each of its words.
var (
	weights = [fields]float64{inName: 6, inTitle: 3, inSummary: 3, inServer: 2, inParams: 0.5, inText: 0.4, inHints: 0.3}
	norms   = [fields]float64{inName: 0.6, inTitle: 0.5, inSummary: 0.6, inServer: 0, inParams: 0.7, inText: 0.5, inHints: 0.5}
)

const (
	// Bounds of what is read of one definition: a server may write a megabyte.
	titleMax               = 200          // bytes
	textMax, textWords     = 4 << 10, 400 // a description, in bytes and words
	schemaBytes            = 64 << 10     // a schema; of a larger one nothing is read
	paramsMax, paramsDepth = 200, 4
	// houseSize is how many tools a server has at least whose names can share a word
	// for no reason but the server's.
	houseSize = 4
)

// index finds tools by words. Safe for many goroutines: it never changes.
type index struct {
	names   []string
	own     [][]string           // the stems of their names, without those of the house, sorted
	servers []string             // whose they are
	posts   map[string][]posting // by stem
	means   meanings
	known   []string // all stems that tools have, sorted
}

// posting is a stem in a definition: weight is the sum over its fields.
type posting struct {
	tool   int
	weight float64
}

// newIndex makes the index of some tools. It takes time in proportion to their
// number, whatever they say of themselves.
func newIndex(tools map[string]*tool) *index {
	words := newLexicon()
	x := &index{names: sortedKeys(tools), posts: map[string][]posting{}}
	docs := make([][fields][]string, len(x.names))
	var average [fields]float64
	house := words.house(tools)
	for i, name := range x.names {
		docs[i] = words.read(tools[name], house[tools[name].source.Name])
		x.own = append(x.own, slices.Compact(slices.Sorted(slices.Values(docs[i][inName]))))
		x.servers = append(x.servers, tools[name].source.Name)
		for f, list := range docs[i] {
			average[f] += float64(len(list)) / float64(len(x.names))
		}
	}
	for i, doc := range docs {
		sum := map[string]float64{}
		for f, list := range doc {
			size := 1 - norms[f] + norms[f]*float64(len(list))/max(average[f], 1)
			for _, stem := range list {
				sum[stem] += weights[f] / size
			}
		}
		for stem, w := range sum {
			x.posts[stem] = append(x.posts[stem], posting{i, w})
		}
	}
	x.means = words.meanings()
	x.known = slices.Sorted(maps.Keys(x.posts))
	return x
}

// house are, by server, the stems that nearly all of its tools have in their names:
// they say whose a tool is, and not what it does.
func (l *lexicon) house(tools map[string]*tool) map[string]map[string]bool {
	total, count := map[string]int{}, map[string]map[string]int{}
	for _, t := range tools {
		server := t.source.Name
		total[server]++
		if count[server] == nil {
			count[server] = map[string]int{}
		}
		for _, stem := range slices.Compact(slices.Sorted(slices.Values(l.of(t.own, textWords)))) {
			count[server][stem]++
		}
	}
	house := map[string]map[string]bool{}
	for server, stems := range count {
		house[server] = map[string]bool{}
		for stem, n := range stems {
			house[server][stem] = total[server] >= houseSize && n*10 >= total[server]*9
		}
	}
	return house
}

// read splits a definition into the stems of its fields.
func (l *lexicon) read(t *tool, house map[string]bool) (doc [fields][]string) {
	doc[inServer] = l.of(t.source.Name, textWords)
	for _, stem := range l.of(t.own, textWords) {
		if house[stem] {
			doc[inServer] = append(doc[inServer], stem)
		} else {
			doc[inName] = append(doc[inName], stem)
		}
	}
	doc[inTitle] = l.of(clip(t.spec.Title, titleMax), textWords)
	text := clip(strings.TrimSpace(t.spec.Description), textMax)
	first := summary(text)
	doc[inSummary] = l.of(first, textWords)
	doc[inText] = l.of(text[len(first):], textWords)
	if len(t.spec.InputSchema) > schemaBytes {
		return doc
	}
	var s struct{ Properties json.RawMessage }
	if json.Unmarshal(t.spec.InputSchema, &s) == nil {
		l.params(s.Properties, paramsDepth, &doc)
	}
	return doc
}

// params reads the names and descriptions of properties, and of those within them.
func (l *lexicon) params(properties json.RawMessage, depth int, doc *[fields][]string) {
	var list map[string]json.RawMessage
	if depth == 0 || len(properties) == 0 || json.Unmarshal(properties, &list) != nil {
		return
	}
	for _, name := range sortedKeys(list) {
		if len(doc[inParams]) >= paramsMax {
			return
		}
		doc[inParams] = append(doc[inParams], l.of(name, 8)...)
		var p struct {
			Description string
			Properties  json.RawMessage
			Items       struct{ Properties json.RawMessage }
		}
		_ = json.Unmarshal(list[name], &p) // as much of it as is what it should be
		if room := textWords - len(doc[inHints]); room > 0 {
			doc[inHints] = append(doc[inHints], l.of(clip(p.Description, 500), room)...)
		}
		l.params(p.Properties, depth-1, doc)
		l.params(p.Items.Properties, depth-1, doc)
	}
}

// summary is the beginning of a description: its first line, or the first sentence
// of it.
func summary(text string) string {
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return text
}
