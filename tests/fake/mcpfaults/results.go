package mcpfaults

import "strings"

// results are faults of what a call gives.
func results() []Fault {
	odd := []struct{ name, why, result string }{
		{"unknown content", "a newer server may have kinds that we do not know", `{"content":[{"type":"hologram","depth":3},{"type":"text","text":"acted"}]}`},
		{"failed without content", "it says that it failed, and nothing more: that is a failed tool", `{"isError":true}`},
		{"failed with empty content", "the same with an empty list", `{"isError":true,"content":[]}`},
		{"nothing at all", "a result without content is none", `{}`},
		{"structured alone", "the text is in the structure", `{"structuredContent":{"acted":true}}`},
		{"a text for a result", "a result is an object", `"acted"`},
		{"content is a text", "the list was forgotten, the meaning is clear", `{"content":"acted"}`},
		{"content is null", "nothing, in other words", `{"content":null}`},
		{"blocks of nonsense", "each block may be bad in its own way", `{"content":[null,7,[],{"type":"image","data":"%%%"},{"type":"resource"},{"type":"text"},{"type":7,"text":"x"}]}`},
		{"bad base64", "data that does not decode is said to be so", `{"content":[{"type":"image","mimeType":"image/png","data":"not base64!"}]}`},
		{"no UTF-8", "text that is none would break a model's request", "{\"content\":[{\"type\":\"text\",\"text\":\"acted \xff\xfe\\ud800 \\u0000\"}]}"},
		{"a task nobody asked for", "the call goes on elsewhere, as a client that never offered it cannot follow", `{"task":{"taskId":"t1","status":"working"}}`},
		{"many blocks", "a block costs more memory than its bytes", `{"content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a"},`, 20_000), ",") + `]}`},
		{"deep result", "structure without end costs a stack", `{"content":[],"structuredContent":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`},
	}
	faults := make([]Fault, len(odd))
	for i, o := range odd {
		faults[i] = Fault{Name: "result: " + o.name, Over: Stdio, Why: o.why, say: acts(func(p *peer, m message) { p.answer(m, o.result) })}
	}
	return append(faults, Fault{Name: "result: never", Over: Stdio, Why: "a call that hangs ends with its time, and the next one works", say: acts(func(*peer, message) {})})
}
