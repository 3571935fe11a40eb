package toolbox

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

const (
	saturation = 1.2 // how soon a word's repetitions count no more
	// synonymWeight and guessWeight are what a word counts that was not written:
	// another for the same thing, and a known one that looks like it.
	synonymWeight, guessWeight = 0.5, 0.6
	wholeName                  = 0.6  // what it adds when a query has all words of a tool's name
	wholeQuery                 = 0.5  // the power by which a tool loses that fits a part of the query only
	lateness                   = 0.05 // what a word loses by each that stands before it: the deed comes first
	sameness                   = 0.3  // what a tool loses whose name is that of one that is listed already
	candidates                 = 100  // that are compared for sameness
	guessLength                = 5    // the shortest word that is guessed at: short ones look like many
)

// search gives the tools that fit a query, the best first, of those that the caller
// may see. Any text is a query.
func (x *index) search(query string, limit int, visible func(name string) bool) []string {
	scores, fit := map[int]float64{}, map[int]float64{}
	named := map[string]float64{} // stems that the query has, or stands for
	terms := x.terms(query)
	for _, word := range terms {
		for stem, weight := range word {
			named[stem] = max(named[stem], weight)
		}
		points, most := x.points(word)
		for tool, p := range points {
			scores[tool] += p
			fit[tool] += p / most
		}
	}
	for tool := range scores {
		scores[tool] *= (1 + wholeName*x.cover(tool, named)) * math.Pow(fit[tool]/float64(len(terms)), wholeQuery)
	}
	found := slices.DeleteFunc(slices.Collect(maps.Keys(scores)), func(i int) bool { return !visible(x.names[i]) })
	slices.SortFunc(found, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), a-b) })
	return x.varied(found[:min(candidates, len(found))], scores, limit)
}

// points are what one word of a query gives to tools, and the most that it gives to
// one. It counts once, by the best of what it stands for.
func (x *index) points(word map[string]float64) (points map[int]float64, most float64) {
	points = map[int]float64{}
	for stem, weight := range word {
		posts := x.posts[stem]
		rare := math.Log(1 + (float64(len(x.names))-float64(len(posts))+0.5)/(float64(len(posts))+0.5))
		for _, p := range posts {
			points[p.tool] = max(points[p.tool], weight*rare*p.weight/(saturation+p.weight))
			most = max(most, points[p.tool])
		}
	}
	return points, most
}

// varied takes the best of what was found, one by one, and of tools with nearly the
// same name the later ones only where nothing else fits as well.
func (x *index) varied(found []int, scores map[int]float64, limit int) []string {
	list := []string{}
	alike := map[int]float64{} // to one that is taken already
	for len(list) < limit && len(found) > 0 {
		best := slices.MaxFunc(found, func(a, b int) int {
			return cmp.Or(cmp.Compare(scores[a]*(1-sameness*alike[a]), scores[b]*(1-sameness*alike[b])), b-a)
		})
		list = append(list, x.names[best])
		found = slices.DeleteFunc(found, func(i int) bool { return i == best })
		for _, i := range found {
			if x.servers[i] == x.servers[best] {
				alike[i] = max(alike[i], overlap(x.own[i], x.own[best]))
			}
		}
	}
	return list
}

// overlap is how much two sorted sets have in common, of all that they have.
func overlap(a, b []string) float64 {
	both := 0
	for _, s := range a {
		if _, ok := slices.BinarySearch(b, s); ok {
			both++
		}
	}
	return float64(both) / float64(max(len(a)+len(b)-both, 1))
}

// cover is how much of a tool's name a query has: a short name that it has whole is
// meant more often than a long one that it has a part of.
func (x *index) cover(tool int, named map[string]float64) float64 {
	if len(x.own[tool]) == 0 {
		return 0
	}
	sum := 0.0
	for _, stem := range x.own[tool] {
		sum += named[stem]
	}
	return sum / float64(len(x.own[tool]))
}

// terms are the words of a query that tell something, each with the stems that it
// stands for and what they count.
func (x *index) terms(query string) []map[string]float64 {
	var list []map[string]float64
	seen := map[string]bool{}
	for _, stem := range x.stems(query) {
		if seen[stem] {
			continue
		}
		weight := 1 / (1 + lateness*float64(len(seen)))
		seen[stem] = true
		terms := map[string]float64{stem: weight}
		for _, other := range x.means.others[stem] {
			terms[other] = max(terms[other], weight*synonymWeight)
		}
		if x.posts[stem] == nil && x.means.others[stem] == nil {
			for _, other := range x.like(stem) {
				terms[other] = weight * guessWeight
			}
		}
		list = append(list, terms)
	}
	return list
}

// stems are those of a query's words that tell something.
func (x *index) stems(query string) (list []string) {
	words := newLexicon()
	idle := map[string]bool{}
	for w := range strings.FieldsSeq(stopWords) {
		idle[w] = true
	}
	for _, word := range wordsOf(clip(query, queryBytes), queryWords) {
		stem := words.stem(word)
		if instead := x.means.instead[stem]; instead != nil {
			list = append(list, instead...)
		} else if !idle[word] {
			list = append(list, stem)
		}
	}
	return list
}

// like are the known stems that a word was meant for, it may be: those that it is a
// part of or that are a part of it, as compounds are, or with one letter amiss.
func (x *index) like(stem string) (list []string) {
	if len(stem) < guessLength {
		return nil
	}
	for _, other := range x.known {
		if len(other) >= guessLength && (strings.HasPrefix(stem, other) || strings.HasSuffix(stem, other) || strings.HasPrefix(other, stem) || oneAmiss(stem, other)) {
			list = append(list, other)
		}
	}
	return list
}

// oneAmiss reports whether two words differ in one letter: another, one more, one
// less, or two neighbours in each other's place.
func oneAmiss(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch a, b := a[i:], b[i:]; len(b) - len(a) {
	case 0:
		return len(a) > 0 && a[1:] == b[1:] || len(a) > 1 && a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
	case 1:
		return a == b[1:]
	}
	return false
}
