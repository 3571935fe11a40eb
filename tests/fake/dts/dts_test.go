package dts

import (
	"encoding/json"
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
`

func TestDifferencesAreFound(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.d.ts"), []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	types, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
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
		`[{"name":"x"}] -> [{"id":"x"}]`:      "p.first[0].name is missing",
		`"odd":"" -> "odd":"","map":{"0":""}`: "",
	} {
		from, to, _ := strings.Cut(change, " -> ")
		var v any
		if err := json.Unmarshal([]byte(strings.Replace(good, from, to, 1)), &v); err != nil {
			t.Fatal(change, err)
		}
		if got := strings.Join(types.Differences("p", v, "Person"), "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", change, got, want)
		}
	}
	for v, ok := range map[string]bool{`{"id":"1"}`: true, `{"age":1,"shoe":""}`: true, `{"id":"1","name":""}`: false, `[]`: false} {
		var value any
		if err := json.Unmarshal([]byte(v), &value); err != nil {
			t.Fatal(err)
		}
		if got := types.Differences("e", value, "Either"); (got == nil) != ok {
			t.Errorf("%s: %q", v, got)
		}
	}
	if got := types.Differences("x", 1, "Nothing"); len(got) != 1 {
		t.Errorf("a type that is none: %q", got)
	}
}
