package wire

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{`"a"`: "a", `""`: "", `"a\n\ud83d\ude00"`: "a\n😀", `"\ud800"`: "\uFFFD", "\"\xff\"": "\uFFFD", `5`: "5", `-1.5e3`: "-1.5e3",
		`null`: "", `true`: "", `false`: "", `{"a":1}`: "", `["a"]`: ""} {
		if got := Plain([]byte(in)); got != want {
			t.Errorf("%s is %q, not %q", in, got, want)
		}
	}
}

func TestWhole(t *testing.T) {
	for in, want := range map[string]int{`5`: 5, `-5`: -5, `"12"`: 12, `3.0`: 3, `1e3`: 1000, `1e300`: 0, `-1e300`: 0, `9223372036854775808`: 0,
		`"NaN"`: 0, `"x"`: 0, `""`: 0, `null`: 0, `true`: 0, `{}`: 0, `[1]`: 0} {
		if got := Whole([]byte(in)); got != want {
			t.Errorf("%s is %d, not %d", in, got, want)
		}
	}
}

// FuzzMembers holds the walk over an object against encoding/json.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, ` { "a" : 1 , "b":[{"c":"}"}],"d":"\"\\" } `, `{"\u0061":null,"":{},"x":-1.5e3,"y":true}`, `[1,{"a":2}]`, `"{"`, `7`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want map[string]json.RawMessage
		if !json.Valid(raw) {
			return
		}
		if json.Unmarshal(raw, &want) != nil {
			want = nil
		}
		got := map[string][]byte{}
		for name, value := range Members(raw) {
			var key string // a name may hold bytes that are no UTF-8
			quoted, _ := json.Marshal(string(name))
			_ = json.Unmarshal(quoted, &key)
			got[key] = value
		}
		if len(got) != len(want) {
			t.Fatalf("%d members in %s, not %d", len(got), raw, len(want))
		}
		for name, value := range want {
			if !bytes.Equal(got[name], bytes.TrimSpace(value)) {
				t.Errorf("%q is %s, not %s", name, got[name], value)
			}
		}
	})
}
