package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// What the report of the stand-in below holds.
var (
	reportImage = append([]byte("\x89PNG\r\n\x1a\n"), []byte(strings.Repeat("Pixels\x00\xff7", 400))...)
	reportFile  = strings.Repeat("Grüße, 世界! ", 2000) + "THE END"
)

// report is one result with everything: prose, an image that is there three times,
// a text file, and structured content that says more.
func report(degrees any) map[string]any {
	picture := base64.StdEncoding.EncodeToString(reportImage)
	return map[string]any{
		"content": []any{
			map[string]any{"type": "text", "text": "It is warm."},
			map[string]any{"type": "image", "mimeType": "image/png", "data": picture},
			map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///log.txt", "mimeType": "text/plain", "blob": []byte(reportFile)}},
		},
		"structuredContent": map[string]any{"degrees": degrees, "image": picture, "again": "data:image/png;base64," + picture},
	}
}

// serveReports is the test binary as an MCP server whose tools give a report that
// fits their outputSchema, and one that does not.
func serveReports() {
	schema := map[string]any{"type": "object", "properties": map[string]any{"degrees": map[string]any{"type": "number"}}, "required": []string{"degrees"}}
	var tools []any
	for _, name := range []string{"good", "broken"} {
		tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}, "outputSchema": schema})
	}
	serveMCP("reports", tools, func(name string) any {
		if name == "broken" {
			return report("7.5")
		}
		return report(7.5)
	})
}

// serveMCP serves tools on stdio until there is no more input, and ends the process.
func serveMCP(server string, tools []any, call func(tool string) any) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ProtocolVersion string
				Name            string
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		var result any
		switch m.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": m.Params.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
				"serverInfo": map[string]any{"name": server, "version": "1"}}
		case "ping":
			result = map[string]any{}
		case "tools/list":
			result = map[string]any{"tools": tools}
		case "tools/call":
			result = call(m.Params.Name)
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}
		if result == nil {
			answer = map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "Method not found"}}
		}
		raw, err := json.Marshal(answer)
		if err != nil {
			panic(err) // made of what always marshals
		}
		fmt.Printf("%s\n", raw)
	}
	os.Exit(0)
}

var (
	artifactNamed = regexp.MustCompile(`artifact "([0-9a-f]+)"`)
	goOn          = regexp.MustCompile(`Go on with offset (\d+)\.\]\n(?s:(.*))$`)
	lastPart      = regexp.MustCompile(`This is the end\.\]\n(?s:(.*))$`)
)

// reader is a model that asks for a report, and reads the file that came with it
// to its end.
type reader struct {
	mu      sync.Mutex
	prompts []string // all that it was given, by request
	file    strings.Builder
}

// got is what was given, and what was read, so far.
func (r *reader) got() (prompts []string, file string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.prompts), r.file.String()
}

func (r *reader) answer(q model.Request) model.Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, m := range q.Messages {
		all = append(all, m.Text)
	}
	r.prompts = append(r.prompts, strings.Join(all, "\n"))
	first := slices.IndexFunc(q.Messages, func(m model.Message) bool { return m.Role == "user" })
	said := q.Messages[first].Text
	if id, ok := strings.CutPrefix(said, "read "); ok {
		if q.Last().Role == "tool" {
			return model.Reply{Text: "I got: " + q.Last().Text}
		}
		return readPart(id, "0")
	}
	var results []string
	for _, m := range q.Messages {
		if m.Role == "tool" {
			results = append(results, m.Text)
		}
	}
	if len(results) == 0 {
		return model.Reply{Calls: []model.Call{{Name: "r__" + said, Arguments: "{}"}}}
	}
	id := artifactNamed.FindStringSubmatch(results[0])
	if id == nil || said == "broken" {
		return model.Reply{Text: "I have no file."}
	}
	last := results[len(results)-1]
	if part := goOn.FindStringSubmatch(last); part != nil {
		r.file.WriteString(part[2])
		return readPart(id[1], part[1])
	}
	if part := lastPart.FindStringSubmatch(last); part != nil {
		r.file.WriteString(part[1])
		return model.Reply{Text: "I have read it: " + id[1]}
	}
	return readPart(id[1], "0")
}

func readPart(id, offset string) model.Reply {
	return model.Reply{Calls: []model.Call{{Name: "read_artifact", Arguments: `{"id": ` + quoted(id) + `, "offset": ` + offset + `}`}}}
}

// TestAResultIsReadOnceAndWhole, from the server to the model and by an admin.
func TestAResultIsReadOnceAndWhole(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	r := new(reader)
	m := model.New(model.Options{Answer: r.answer})
	t.Cleanup(m.Close)
	g := startGateway(t, `{"listen": "${LISTEN}", "models": {"main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "model": "m", "api_key": "k"}},
		"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}}, "access": {"mode": "open", "rate": ""},
		"mcp_servers": {"r": {"command": `+quoted(os.Args[0])+`, "env": {"E2E_REPORTS": "1"}}}, "tools": {"default": "allow", "result_bytes": 4096}}`)
	h := &hostile{gateway: g, tg: tg}
	g.WaitLine("mcp_server_connected", readyWithin)
	ann, bob, cy := tg.User(1, "Ann"), tg.User(2, "Bob"), tg.User(3, "Cy")

	ann.Say("good")
	id := strings.TrimPrefix(h.outcome(t, ann, 1, contains("I have read it")), "I have read it: ")
	prompts, file := r.got()
	if file != reportFile {
		t.Errorf("the parts give %d bytes, want %d", len(file), len(reportFile))
	}
	image := fmt.Sprintf("[image, image/png, %d bytes]", len(reportImage))
	for _, want := range []string{"It is warm.\n" + image + "\n[resource file:///log.txt, text/plain, ", `{"again":"` + image + `","degrees":7.5,"image":"` + image + `"}`} {
		if !strings.Contains(prompts[1], want) {
			t.Errorf("the model reads %.900q, want %q in it", prompts[1], want)
		}
	}
	encoded := base64.StdEncoding.EncodeToString(reportImage)
	for _, prompt := range prompts {
		if strings.Contains(prompt, encoded[:100]) {
			t.Fatal("the image is in the prompt as text")
		}
	}

	bob.Say("read " + id)
	h.outcome(t, bob, 1, contains("This conversation has no artifact"))
	cy.Say("broken")
	h.outcome(t, cy, 1, is("I have no file."))
	prompts, _ = r.got()
	if last := prompts[len(prompts)-1]; !strings.Contains(last, "The tool ran, but what it gave breaks its own outputSchema:\n- at /degrees: got string, want number") || !strings.Contains(last, "It is warm.") {
		t.Errorf("the model reads %.900q", last)
	}

	out, _, code := g.CLI("call", "--json", "r__broken")
	var told struct {
		Outcome    string
		Structured map[string]any
		Content    []map[string]any
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil || code != 1 || told.Outcome != "protocol_error" {
		t.Fatalf("an admin's call ends with %d, %v: %.300s", code, err, out)
	}
	if told.Structured["image"] != encoded || len(told.Content) != 3 || told.Content[1]["data"] != encoded {
		t.Errorf("an admin gets %.300v", told)
	}
}
