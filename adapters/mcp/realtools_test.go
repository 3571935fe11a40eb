//go:build unix

package mcp

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
)

// probe is one call to a real server and what its answer, as shown by show, must
// match, all of it. Tools are called in the order of a table: later ones may see
// what earlier ones did.
type probe struct{ tool, args, want string }

// wantTools calls every probe, and holds the table to the server: each of its
// tools is in it, or among those left out.
func wantTools(t *testing.T, r *rig, probes []probe, leftOut ...string) {
	t.Helper()
	r.awaitPhase(ports.PhaseReady, 0)
	called := map[string]bool{}
	for _, p := range probes {
		called[p.tool] = true
		result, err := r.call(t.Context(), p.tool, p.args)
		if err != nil {
			t.Errorf("%s %s: %v", p.tool, p.args, err)
			continue
		}
		if got := show(result); !regexp.MustCompile(`(?s)^(?:` + p.want + `)$`).MatchString(got) {
			t.Errorf("%s %s gives\n%.2000s\nwant\n%s", p.tool, p.args, got, p.want)
		}
	}
	for _, name := range r.names() {
		if !called[name] && !slices.Contains(leftOut, name) {
			t.Errorf("no call to the tool %s is tried", name)
		}
	}
}

// show writes a result in lines, one for each block, then the structured content.
func show(r ports.ToolResult) string {
	var lines []string
	if r.IsError {
		lines = append(lines, "FAILED")
	}
	for _, b := range r.Content {
		line := string(b.Kind)
		for _, part := range []string{b.Name, b.URI, b.MIME, b.Text, unpacked(b.Data)} {
			if part != "" {
				line += " " + part
			}
		}
		lines = append(lines, line)
	}
	if len(r.Structured) > 0 {
		lines = append(lines, "structured "+string(r.Structured))
	}
	return strings.Join(lines, "\n")
}

// unpacked says what data is: the size of an image, the text in an archive.
func unpacked(data []byte) string {
	if image, err := png.DecodeConfig(bytes.NewReader(data)); err == nil {
		return fmt.Sprintf("%dx%d", image.Width, image.Height)
	}
	if archive, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		if text, err := io.ReadAll(archive); err == nil {
			return "packed: " + string(text)
		}
	}
	return string(data)
}

// everythingProbes are all tools of the reference server that ask for nothing.
// Its structured content has its text's JSON once more.
func everythingProbes(transport string) []probe {
	weather := `\{"temperature":36,"conditions":"Light rain / drizzle","humidity":82\}`
	return []probe{
		{"echo", `{"message":"Grüße, 世界"}`, `text Echo: Grüße, 世界`},
		{"echo", `{"message":7}`, `FAILED\ntext .*Input validation error.*`},
		{"get-sum", `{"a":2.5,"b":-3}`, `text The sum of 2\.5 and -3 is -0\.5\.`},
		{"get-tiny-image", `{}`, `text [^\n]*\nimage image/png 20x20\ntext [^\n]*`},
		{"get-annotated-message", `{"messageType":"error","includeImage":true}`, `text Error: Operation failed\nimage image/png 20x20`},
		{"get-annotated-message", `{"messageType":"debug"}`, `text Debug: [^\n]*`},
		{"get-structured-content", `{"location":"Chicago"}`, `text ` + weather + `\nstructured ` + weather},
		{"get-resource-links", `{"count":2}`, `text Here are 2 resource links [^\n]*\n` +
			`link Blob Resource 1 demo://resource/dynamic/blob/1 text/plain [^\n]*\nlink Text Resource 2 demo://resource/dynamic/text/2 text/plain [^\n]*`},
		{"get-resource-reference", `{"resourceType":"Text","resourceId":3}`, `text [^\n]*\nresource demo://resource/dynamic/text/3 text/plain Resource 3: This is a plaintext resource [^\n]*\ntext [^\n]*`},
		{"get-resource-reference", `{"resourceType":"Blob","resourceId":2}`, `text [^\n]*\nresource demo://resource/dynamic/blob/2 text/plain Resource 2: This is a base64 blob [^\n]*\ntext [^\n]*`},
		{"gzip-file-as-resource", `{"name":"x.gz","data":"data:text/plain,hello","outputType":"resource"}`, `resource demo://resource/session/x\.gz application/gzip packed: hello`},
		{"gzip-file-as-resource", `{"name":"y.gz","data":"data:text/plain,hello","outputType":"resourceLink"}`, `link y\.gz demo://resource/session/y\.gz application/gzip packed: hello`},
		{"trigger-long-running-operation", `{"duration":1,"steps":4}`, `text Long running operation completed\. Duration: 1 seconds, Steps: 4\.`},
		{"toggle-simulated-logging", `{}`, `text Started simulated, random-leveled logging .*`},
		{"echo", `{"message":"beside the log"}`, `text Echo: beside the log`},
		{"toggle-simulated-logging", `{}`, `text Stopped simulated logging .*`},
		{"toggle-subscriber-updates", `{}`, `text Started simulated resource updated notifications .*`},
		{"toggle-subscriber-updates", `{}`, `text Stopped simulated resource updates .*`},
		{"get-env", `{}`, map[string]string{overStdio: `text \{.*"PATH":.*\}`, overHTTP: `text \{.*"PORT":.*\}`}[transport]},
	}
}

// TestEveryToolOfTheEverythingServerAnswers also shows that a program of others
// sees nothing of our environment but what it may.
func TestEveryToolOfTheEverythingServerAnswers(t *testing.T) {
	t.Setenv("SOME_BOT_TOKEN", "not for tools")
	r := start(t, nodeServer(t, "mcp-server-everything", "stdio"))
	wantTools(t, r, everythingProbes(overStdio), "simulate-research-query")
	result, err := r.call(t.Context(), "get-env", `{}`)
	if err != nil || len(result.Content) != 1 {
		t.Fatalf("get-env gives %+v, %v", result, err)
	}
	var sees map[string]string
	if err := json.Unmarshal([]byte(result.Content[0].Text), &sees); err != nil {
		t.Fatal(err)
	}
	for name := range sees {
		if !slices.Contains([]string{"PATH", "HOME", "LANG", "TMPDIR", "USER"}, name) {
			t.Errorf("the server sees %s", name)
		}
	}
}

func TestEveryToolOfTheEverythingServerAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	r := start(t, newRemote(t, "mcp-server-everything", "streamableHttp").config())
	wantTools(t, r, everythingProbes(overHTTP), "simulate-research-query")
}

func TestEveryToolOfTheFilesystemServerAnswers(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dot := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89")
	if err := os.WriteFile(filepath.Join(dir, "dot.png"), dot, 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
	want := func(s string) string { return strings.ReplaceAll(s, "DIR", regexp.QuoteMeta(dir)) }
	probes := []probe{
		{"write_file", `{"path":"DIR/a.txt","content":"one\ntwo\nthree"}`, `text Successfully wrote to DIR/a.txt\nstructured .*`},
		{"read_text_file", `{"path":"DIR/a.txt"}`, `text one\ntwo\nthree\nstructured \{"content":"one\\ntwo\\nthree"\}`},
		{"read_text_file", `{"path":"DIR/a.txt","head":1}`, `text one\nstructured .*`},
		{"read_file", `{"path":"DIR/a.txt","tail":1}`, `text three\nstructured .*`},
		{"read_text_file", `{"path":"DIR/none.txt"}`, `FAILED\ntext ENOENT.*`},
		{"read_text_file", `{"path":"/etc/hostname"}`, `FAILED\ntext Access denied.*`},
		{"edit_file", `{"path":"DIR/a.txt","edits":[{"oldText":"two","newText":"2"}]}`, `text .*-two\n\+2\n.*structured .*`},
		{"create_directory", `{"path":"DIR/sub"}`, `text Successfully created directory DIR/sub\nstructured .*`},
		{"move_file", `{"source":"DIR/a.txt","destination":"DIR/sub/b.txt"}`, `text Successfully moved DIR/a.txt to DIR/sub/b.txt\nstructured .*`},
		{"read_multiple_files", `{"paths":["DIR/sub/b.txt","DIR/gone.txt"]}`, `text DIR/sub/b.txt:\none\n2\nthree\n.*DIR/gone.txt: Error - ENOENT.*structured .*`},
		{"read_media_file", `{"path":"DIR/dot.png"}`, `image image/png 1x1\nstructured .*`},
		{"list_directory", `{"path":"DIR"}`, `text \[FILE\] dot.png\n\[(?:D)IR\] sub\nstructured .*`},
		{"list_directory_with_sizes", `{"path":"DIR"}`, `text .*dot\.png +33 B.*structured .*`},
		{"directory_tree", `{"path":"DIR"}`, `text \[.*"name": "sub".*"name": "b.txt".*structured .*`},
		{"search_files", `{"path":"DIR","pattern":"**/*.txt"}`, `text DIR/sub/b.txt\nstructured .*`},
		{"get_file_info", `{"path":"DIR/sub/b.txt"}`, `text size: 11\n.*structured .*`},
		{"list_allowed_directories", `{}`, `text Allowed directories:\nDIR\nstructured .*`},
	}
	for i := range probes {
		probes[i].args, probes[i].want = in(probes[i].args), want(probes[i].want)
	}
	wantTools(t, start(t, nodeServer(t, "mcp-server-filesystem", dir)), probes)
}

func TestEveryToolOfTheMemoryServerAnswers(t *testing.T) {
	t.Parallel()
	cfg := nodeServer(t, "mcp-server-memory")
	cfg.Env["MEMORY_FILE_PATH"] = ports.Secret(filepath.Join(t.TempDir(), "memory.json"))
	ann, bob, knows := `\{"name":"Ann","entityType":"person","observations":\["likes tea"\]\}`, `\{"name":"Bob","entityType":"person","observations":\[\]\}`, `\{"from":"Ann","to":"Bob","relationType":"knows"\}`
	probes := []probe{
		{"create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes tea"]},{"name":"Bob","entityType":"person","observations":[]}]}`,
			`text .*structured \{"entities":\[` + ann + `,` + bob + `\]\}`},
		{"create_relations", `{"relations":[{"from":"Ann","to":"Bob","relationType":"knows"}]}`, `text .*structured \{"relations":\[` + knows + `\]\}`},
		{"search_nodes", `{"query":"tea"}`, `text .*structured \{"entities":\[` + ann + `\],"relations":\[` + knows + `\]\}`},
		{"open_nodes", `{"names":["Bob"]}`, `text .*structured \{"entities":\[` + bob + `\],"relations":\[` + knows + `\]\}`},
		{"add_observations", `{"observations":[{"entityName":"Bob","contents":["is tall"]}]}`, `text .*structured \{"results":\[\{"entityName":"Bob","addedObservations":\["is tall"\]\}\]\}`},
		{"add_observations", `{"observations":[{"entityName":"Nobody","contents":["is tall"]}]}`, `FAILED\ntext .*Nobody.*`},
		{"delete_observations", `{"deletions":[{"entityName":"Bob","observations":["is tall"]}]}`, `text Observations deleted successfully\nstructured .*`},
		{"delete_relations", `{"relations":[{"from":"Ann","to":"Bob","relationType":"knows"}]}`, `text Relations deleted successfully\nstructured .*`},
		{"delete_entities", `{"entityNames":["Ann"]}`, `text Entities deleted successfully\nstructured .*`},
		{"read_graph", `{}`, `text .*structured \{"entities":\[` + bob + `\],"relations":\[\]\}`},
	}
	wantTools(t, start(t, cfg), probes)
	// What it keeps is on disk: the next process has it.
	wantTools(t, start(t, cfg), probes[len(probes)-1:], "create_entities", "create_relations", "search_nodes", "open_nodes", "add_observations", "delete_observations", "delete_relations", "delete_entities")
}

func TestTheSequentialThinkingServerAnswers(t *testing.T) {
	t.Parallel()
	wantTools(t, start(t, nodeServer(t, "mcp-server-sequential-thinking")), []probe{
		{"sequentialthinking", `{"thought":"first","nextThoughtNeeded":true,"thoughtNumber":1,"totalThoughts":2}`,
			`text .*structured \{"thoughtNumber":1,"totalThoughts":2,"nextThoughtNeeded":true,"branches":\[\],"thoughtHistoryLength":1\}`},
		{"sequentialthinking", `{"thought":"second","nextThoughtNeeded":false,"thoughtNumber":2,"totalThoughts":2}`, `text .*"thoughtHistoryLength":2\}`},
		{"sequentialthinking", `{"thought":"no number"}`, `FAILED\ntext .*`},
	})
}
