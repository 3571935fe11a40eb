package toolbox

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

const (
	// wordMax bounds a word, in bytes: what is longer is none.
	wordMax = 40
	// queryBytes and queryWords bound what is looked at of a query.
	queryBytes, queryWords = 2000, 64
)

// lexicon turns text into stems. It remembers those that it made, so that each
// word of a catalog is stemmed once. Not safe for several goroutines.
type lexicon struct{ stems map[string]string }

func newLexicon() *lexicon { return &lexicon{map[string]string{}} }

// stem is what a lower-case word has in common with its other forms.
func (l *lexicon) stem(word string) string {
	s, ok := l.stems[word]
	if !ok {
		if s = word; word[0] < utf8.RuneSelf {
			s = english.Stem(word, true)
		}
		l.stems[word] = s
	}
	return s
}

// of are the stems of a text, in order, max at most.
func (l *lexicon) of(text string, max int) []string {
	words := wordsOf(text, max)
	for i, w := range words {
		words[i] = l.stem(w)
	}
	return words
}

// wordsOf splits a text at everything that is no letter or digit, and where small
// letters meet a capital: names are written in many ways. Words are lower case and
// have no accents. A letter of a script without spaces is a word of its own.
func wordsOf(text string, max int) []string {
	var words []string
	var word strings.Builder
	end := func() {
		if n := word.Len(); n > 0 && n <= wordMax && len(words) < max {
			words = append(words, word.String())
		}
		word.Reset()
	}
	before := ' '
	for _, r := range decomposed(text) {
		if len(words) >= max {
			break
		}
		switch {
		case unicode.Is(unicode.Mn, r): // an accent
			continue
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end()
			word.WriteRune(r)
			end()
		case unicode.IsLetter(r), unicode.IsDigit(r):
			if unicode.IsUpper(r) && unicode.IsLower(before) {
				end()
			}
			if word.Len() <= wordMax {
				word.WriteRune(unicode.ToLower(r))
			}
		default:
			end()
		}
		before = r
	}
	end()
	return words
}

// stopWords say nothing about what is wanted, in the languages that people who
// write to a bot are most likely to use.
const stopWords = `a an and are as at be been but by can could did do does for from had has have he her hers him his how i if in into is it its
just let lets like ll me my of on or our out please re s shall she should so some than that the their them then there these they this those to too
us ve very was we were what whats when where which who whom why will with would yes you your t d m im really want need got gets about else still here because while during again further once own same both
each few more most other only up down back under over into through between also even ok
der die das den dem des ein eine einen einem einer und oder aber ist sind war bin ich du er sie es wir ihr mir mich dir dich uns mein meine meinen meiner meinem
dein deine in im an am auf aus bei mit nach von vom zu zum zur fur uber unter was wer wie wo wann welche welcher welches bitte noch mal dass nicht
le la les un une des du de et ou est sont je tu il elle nous vous mon ma mes pour dans sur avec que qui quoi
el los las una unos y o es son yo mi mis tu para por con en que quien como al del`

// decomposed has the accents of letters behind them.
func decomposed(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return norm.NFD.String(strings.ToValidUTF8(text, " "))
		}
	}
	return text
}
