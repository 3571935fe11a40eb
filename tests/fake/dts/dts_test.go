package dts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `
import type { X } from './x';
/** A person. */
export interface Person<Kind extends Kinds = Kinds.Big> extends Named, Pick<Other, 'age' | 'size'> {
    kind: Kind;
    nick?: string | null;
    readonly friends: Person<Kinds>[];
    mark: Marks;
    first: First[];
    map?: { [key in Kinds]?: string; };
    odd: Kind extends Kinds.Big ? string : never;
}
export interface Named { id: string; name?: string; }
export interface Other { age: number; size?: number; shoe: string; }
export declare enum Kinds { Big = 0, Small = 1, Word = "word" }
export declare enum Marks { One = 1, Two = 2 }
export type First = Partial<Named> & Required<Pick<Named, 'name'>>;
export type Either = Omit<Named, 'name'> | Other;
export declare function is(x: Named): x is Named;
type With<P extends keyof Note> = Record<P, NonNullable<Note[P]>>;
export declare namespace Note {
    interface Base { id: string; author: Author.Any; }
    interface Author { of: Base; }
    type Texted = Base & With<"text"> & Partial<With<"color">>;
}
export declare namespace Author {
    interface Bot { kind: "bot"; }
    interface Man { kind: "man"; }
    type Any = Bot | Man;
}
export interface Note extends Note.Base { text?: string | null; color?: 0x10 | 0xFF; }
export interface Sent { chat: Exclude<Author.Any, Author.Bot>; list: ReadonlyArray<Note.Texted>; lost?: Lost; more?: Note & Lost; }
export type Calls<F> = {
    send(args: { note: Note; to?: F | string; }): Note.Texted | true;
    read(args?: { "from": number; }): Note[];
    stop(): true;
    quit: Calls<F>["stop"];
};
`

func sampleTypes(t *testing.T) Types {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.d.ts"), []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	types, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// decoded is a JSON text with a piece changed, as "from -> to" says.
func decoded(t *testing.T, text, change string) (v any) {
	t.Helper()
	from, to, _ := strings.Cut(change, " -> ")
	if err := json.Unmarshal([]byte(strings.Replace(text, from, to, 1)), &v); err != nil {
		t.Fatal(change, err)
	}
	return v
}

func TestDifferencesAreFound(t *testing.T) {
	types := sampleTypes(t)
	const good = `{"id":"1","age":7,"kind":0,"nick":null,"friends":[{"id":"2","age":8,"kind":1,"friends":[],"mark":2,"first":[],"odd":1}],"mark":1,"first":[{"name":"x"}],"odd":""}`
	for change, want := range map[string]string{
		``:                                    "",
		`"id":"1" -> "id":1`:                  "p.id is float64",
		`"id":"1", -> `:                       "p.id is missing",
		`"age":7 -> "aged":7`:                 "p.aged is not known; p.age is missing",
		`"shoe" -> `:                          "",
		`"age":7 -> "age":7,"shoe":""`:        "p.shoe is not known",
		`"kind":0 -> "kind":1`:                "p.kind is float64 1",
		`"kind":1 -> "kind":"word"`:           "",
		`"kind":1 -> "kind":"other"`:          "p.friends[0].kind is string",
		`"nick":null -> "nick":7`:             "p.nick is float64",
		`"mark":1 -> "mark":3`:                "p.mark is float64 3",
		`"mark":1 -> "mark":1.2`:              "p.mark is float64 1.2",
		`[{"name":"x"}] -> [{"id":"x"}]`:      "p.first[0].name is missing",
		`"odd":"" -> "odd":"","map":{"0":""}`: "",
	} {
		if got := strings.Join(types.Differences("p", decoded(t, good, change), "Person"), "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", change, got, want)
		}
	}
	for v, ok := range map[string]bool{`{"id":"1"}`: true, `{"age":1,"shoe":""}`: true, `{"id":"1","name":""}`: false, `[]`: false} {
		if got := types.Differences("e", decoded(t, v, ""), "Either"); (got == nil) != ok {
			t.Errorf("%s: %q", v, got)
		}
	}
}

func TestDifferencesAreFoundInNamespaces(t *testing.T) {
	types := sampleTypes(t)
	const good = `{"chat":{"kind":"man"},"list":[{"id":"1","author":{"kind":"bot"},"text":"x","color":255}]}`
	for change, want := range map[string]string{
		``:                                 "",
		`{"kind":"man"} -> {"kind":"bot"}`: "s.chat.kind is string bot",
		`[{"id" -> [7,{"id"`:               "s.list[0] is float64 7",
		`"id":"1", -> `:                    "s.list[0].id is missing",
		`{"kind":"bot"} -> {"kind":"cat"}`: "s.list[0].author.kind is string cat",
		`"text":"x", -> `:                  "s.list[0].text is missing",
		`"text":"x" -> "text":null`:        "s.list[0].text is <nil>",
		`"color":255 -> "color":254`:       "s.list[0].color is float64 254",
		`"color":255 -> "colour":16`:       "s.list[0].colour is not known",
		`,"color":255 -> `:                 "",
		`"chat" -> "lost":1,"chat"`:        "s.lost: there is no type Lost",
		`"chat" -> "more":{},"chat"`:       "s.more: there is no type Lost",
	} {
		if got := strings.Join(types.Differences("s", decoded(t, good, change), "Sent"), "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", change, got, want)
		}
	}
}

func TestATypeMayBeAnyExpression(t *testing.T) {
	types := sampleTypes(t)
	const man = `{"kind":"man"}`
	for expression, ok := range map[string]bool{
		"Author.Man": true, "Author.Bot": false, "Author.Any | true": true, "Author.Man[]": false, "Author.Man & Named": false,
		"Man": false, "Nothing": false, "": false, "Author.Man |": true, "Author.Bot |": false, "Author.Man Named": false,
	} {
		if got := types.Differences("x", decoded(t, man, ""), expression); (got == nil) != ok {
			t.Errorf("%q: %q", expression, got)
		}
	}
	if got := types.Differences("x", 1, "Nothing"); len(got) != 1 {
		t.Errorf("a type that is none: %q", got)
	}
}

func TestFieldsAndMethods(t *testing.T) {
	types := sampleTypes(t)
	if got := strings.Join(types.Fields("Note"), " "); got != "text color" {
		t.Errorf("a note has %s", got)
	}
	for name, want := range map[string]string{
		"send": "[note to] Note.Texted | true true", "read": "[from] Note [ ] true", "stop": "[] true true", "quit": "[]  false", "none": "[]  false",
	} {
		params, result, ok := types.Method("Calls", name)
		if got := fmt.Sprintf("%v %s %t", params, result, ok); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
