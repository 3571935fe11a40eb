package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAnEnvelopeIsReadWithoutItsLetter(t *testing.T) {
	for text, want := range map[string]struct {
		id                    string
		whole, method, answer bool
	}{
		`{"jsonrpc":"2.0","id":3,"result":{"id":4,"a":[1,{"method":"x"}]}}`: {"3", true, false, true},
		`{"result":{"content":[],"id":9},"jsonrpc":"2.0","id":12}`:          {"12", true, false, true},
		` { "result" : "\"id\":5,}" , "id" : "7" } `:                        {`"7"`, true, false, true},
		`{"error":{"code":1},"id":-2}`:                                      {"-2", true, false, true},
		`{"id":"a\"b\\","method":"ping","params":{"result":1}}`:             {`"a\"b\\"`, true, true, false},
		`{"method":"notifications/message"}`:                                {"", true, true, false},
		`{"resultant":1,"idx":2,"methods":3,"id":null}`:                     {"null", true, false, false},
		`{"id":{"x":1},"result":1}`:                                         {"", true, false, true},
		`{"id":1,"result":"` + strings.Repeat("x", 100):                     {"1", false, false, true},
		`[{"id":1,"result":1}]`:                                             {"", false, false, false},
		`{"id":1,"result":1}{"id":2}`:                                       {"1", false, false, true},
		`{"id":1,"result":1}}`:                                              {"1", false, false, true},
		`hello {"id":1}`:                                                    {"", false, false, false},
		``:                                                                  {"", false, false, false},
		`{"id":` + strings.Repeat("1", 1000) + `,"result":1}`:               {strings.Repeat("1", maxIDText), true, false, true},
		`{"` + strings.Repeat("result", 100) + `":1,"id":5}`:                {"5", true, false, false},
	} {
		for size := 1; size <= len(text)+1; size += 1 + size/5 {
			var e envelope
			for at := 0; at < len(text); at += size {
				e.feed([]byte(text[at:min(at+size, len(text))]))
			}
			m, whole := e.message()
			if string(m.ID) != want.id || whole != want.whole || e.method != want.method || e.answer != want.answer {
				t.Errorf("%.60s in pieces of %d: id %s, whole %v, method %v, answer %v", text, size, m.ID, whole, e.method, e.answer)
			}
		}
	}
}

// FuzzEnvelope: what encoding/json takes for a message is read alike.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{`{"id":1,"result":{}}`, `{"result":["\\\"",{"id":2}],"id":"x"}`, `{"method":"a","id":null}`, `[]`, `{"a":"\u0000"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var e envelope
		e.feed(text)
		m, whole := e.message()
		if len(e.name) > maxMemberName || len(e.id) > maxIDText {
			t.Errorf("%d and %d bytes are kept", len(e.name), len(e.id))
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil || members == nil {
			return
		}
		if !whole {
			t.Fatalf("%s is whole", text)
		}
		id := members["id"]
		if scalar := len(id) > 0 && len(id) <= maxIDText && id[0] != '{' && id[0] != '['; scalar && strings.Count(string(text), "id") == 1 && string(m.ID) != string(id) {
			t.Errorf("the id of %s is read as %s", text, m.ID)
		}
	})
}
