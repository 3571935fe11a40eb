package toolbox

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// FuzzStructured: any JSON stays JSON when it is made compact, and nothing of it
// is lost but long base64; it doubles itself, alone and wrapped.
func FuzzStructured(f *testing.F) {
	blob := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("why??? 123 ", 100)))
	for _, seed := range []string{`{"a": [1, "x\"\\", null]}`, `"` + blob + `"`, `{"` + blob + `":"\u00e9"}`, `[1.0,1e0,-0]`, `{"a":1,"a":2}`, `""`, "\"\xff\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		notes := 0
		short, ok := compact(raw, func(data []byte) string { notes++; return fmt.Sprint(len(data), ` "bytes"`) })
		if ok != json.Valid([]byte(raw)) {
			t.Fatalf("ok is %v", ok)
		}
		if !ok {
			if same, double := double(raw, []string{raw}); double || same[0] {
				t.Error("what is not JSON doubles itself")
			}
			return
		}
		if !json.Valid([]byte(short)) || len(short) > len(raw) {
			t.Errorf("it became %q", short)
		}
		if notes == 0 && !equalJSON(decodeTree(raw), decodeTree(short)) {
			t.Errorf("it became %q, which is something else", short)
		}
		if _, ok := double(raw, []string{"before", raw}); !ok {
			t.Error("it does not double itself")
		}
		if _, ok := double(`{"result":`+raw+`}`, []string{raw}); !ok && short != "null" {
			t.Error("wrapped it does not double itself")
		}
	})
}
