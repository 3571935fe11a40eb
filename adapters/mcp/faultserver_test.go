//go:build unix

package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/ports"
)

// modeVar makes the test binary a server: its value is how it misbehaves.
const modeVar = "DRAGOMAN_TEST_SERVER"

func TestMain(m *testing.M) {
	switch mode, ok := os.LookupEnv(modeVar); {
	case mode == "gateway":
		runGateway()
		return
	case mode == "relay":
		relay()
		return
	case mode == "deserter":
		desert()
		return
	case ok:
		newPeer(mode).serve()
		return
	}
	// The server of the official Go SDK, which some tests talk to, goes on with what
	// a client that has left asked for.
	const sdk = "github.com/modelcontextprotocol/go-sdk/internal/jsonrpc2.(*Connection)"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(sdk+".readIncoming"), goleak.IgnoreAnyFunction(sdk+".handleAsync.func2"))
}

// runGateway runs a source, prints the process id of its server and waits to be killed.
func runGateway() {
	src, err := New(peerConfig("stubborn"), Deps{Mark: NewMark(os.Getenv(folderVar))})
	if err != nil {
		panic(err)
	}
	_ = src.Run(context.Background(), announcer{src})
}

type announcer struct{ src *Source }

func (announcer) Register(ports.Catalog) {}

func (a announcer) State(s ports.State) {
	if s.Phase == ports.PhaseReady {
		fmt.Println("server", sessionOf(a.src).link.(*stdio).proc.cmd.Process.Pid)
		go a.forkAway()
	}
}

// peer is a small MCP server, written without any library, that misbehaves as
// its mode says.
type peer struct {
	mode string
	out  func(line string) // nil: to stdout

	mu        sync.Mutex
	tools     []string // extra tools, raw
	calls     int
	running   map[string]context.CancelFunc
	cancelled []string
	answers   []string // what the client answered to our requests
	lists     int
	ended     bool
}

func newPeer(mode string) *peer {
	return &peer{mode: mode, running: make(map[string]context.CancelFunc)}
}

type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (p *peer) serve() {
	switch p.mode {
	case "sleeper":
		time.Sleep(time.Hour)
	case "stillborn":
		for n := range 10 {
			fmt.Fprintln(os.Stderr, "line", n)
		}
		fmt.Fprintln(os.Stderr, "fatal: the key "+os.Getenv("API_KEY")+" is not accepted")
		os.Exit(3)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "parent":
		p.fork()
	case "noise":
		fmt.Print("Welcome to the server!\n\n[1]\n123\nnull\n{\"level\":\"info\"}\n[INFO] ready\n\"x\"\n")
	}
	fmt.Fprintln(os.Stderr, "serving as", p.mode)
	switch p.mode {
	case "flood":
		p.flood(strings.Repeat("0123456789 ready\n", 100))
	case "wide flood":
		p.flood(strings.Repeat("x", 64<<10) + "\n")
	case "blank flood":
		p.flood(strings.Repeat("\n", 1000))
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if p.mode == "stubborn" {
				time.Sleep(time.Hour)
			}
			return
		}
		var m incoming
		if json.Unmarshal(line, &m) != nil {
			fmt.Fprintln(os.Stderr, "no JSON:", len(line))
			continue
		}
		p.handle(m)
		if p.mode == "deaf" && m.Method == "tools/list" {
			time.Sleep(time.Hour)
		}
	}
}

// flood prints until nobody reads any more.
func (p *peer) flood(text string) {
	for {
		if _, err := os.Stdout.WriteString(text); err != nil {
			os.Exit(1)
		}
	}
}

func (p *peer) fork() {
	child := exec.Command("/proc/self/exe")
	child.Env = []string{modeVar + "=sleeper"}
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "grandchild", child.Process.Pid)
}

func (p *peer) write(line string) {
	if p.out != nil {
		p.out(line)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	os.Stdout.WriteString(line + "\n")
}

func (p *peer) result(id json.RawMessage, result string) {
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

func (p *peer) refuse(id json.RawMessage, code int, message string) {
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message))
}

func (p *peer) handle(m incoming) {
	switch {
	case p.mode == "mute":
		return
	case p.mode == "gibberish":
		p.write("what is " + m.Method + "?")
		return
	case m.Method == "":
		p.mu.Lock()
		p.answers = append(p.answers, string(m.ID)+" "+string(m.Result)+string(m.Error))
		p.mu.Unlock()
		return
	case p.mode == "empty" && len(m.ID) > 0:
		p.result(m.ID, `{}`)
		return
	}
	if p.mode == "noise" {
		p.write("handling " + m.Method)
	}
	switch m.Method {
	case "initialize":
		p.initialize(m)
	case "notifications/initialized":
		if p.mode == "asking" {
			for i, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"} {
				p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask-%d","method":%q,"params":{}}`, i, method))
			}
		}
	case "notifications/cancelled":
		p.cancel(m.Params)
	case "tools/list":
		p.list(m)
	case "tools/call":
		p.call(m)
	default:
		if len(m.ID) > 0 {
			p.refuse(m.ID, -32601, "Method not found")
		}
	}
}

func (p *peer) initialize(m incoming) {
	switch p.mode {
	case "future":
		p.refuse(m.ID, -32022, "Unsupported protocol version; supported: 2026-07-28")
	case "unheard":
		p.result(m.ID, `{"protocolVersion":"3000-01-01","capabilities":{},"serverInfo":{"name":"peer","version":"1"}}`)
	default:
		p.result(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"peer","version":"1.2"}}`)
	}
}

var goodTools = strings.Join([]string{
	`{"name":"echo","title":"Echo","description":"Says it again.","inputSchema":` + echoSchema + `,"annotations":{"readOnlyHint":true}}`,
	`{"name":"say","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}`,
	`{"name":"refuse","inputSchema":{"type":"object"}}`,
	`{"name":"slow","inputSchema":{"type":"object"}}`,
	`{"name":"ask","inputSchema":{"type":"object"}}`,
}, ",")

const echoSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"text":{"type":"string"}},"anyOf":[{"required":["text"]},{}]}`

func (p *peer) list(m incoming) {
	p.mu.Lock()
	p.lists++
	n := p.lists
	tools := strings.Join(append([]string{goodTools}, p.tools...), ",")
	p.mu.Unlock()
	one := func(i int) string { return fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i) }
	switch p.mode {
	case "listless":
		p.refuse(m.ID, -32601, "Method not found")
	case "cursor":
		p.result(m.ID, `{"tools":[`+one(n)+`],"nextCursor":"again"}`)
	case "endless":
		p.result(m.ID, fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, one(n), n))
	case "endless-bytes":
		p.result(m.ID, fmt.Sprintf(`{"tools":[{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, n, strings.Repeat("d", 400<<10), n))
	case "paged":
		if !strings.Contains(string(m.Params), "cursor") {
			p.result(m.ID, `{"tools":[`+goodTools+`],"nextCursor":"two"}`)
			return
		}
		p.result(m.ID, `{"tools":[`+one(2)+`]}`)
	case "badtools":
		p.result(m.ID, `{"tools":[`+strings.Join(badTools(), ",")+`,`+goodTools+`]}`)
	default:
		p.result(m.ID, `{"tools":[`+tools+`]}`)
	}
}

// badTools are malformed in ways that have been seen; the last four can be used.
func badTools() []string {
	return []string{
		`{"inputSchema":{"type":"object"}}`,
		`{"name":7,"inputSchema":{"type":"object"}}`,
		`{"name":"true_schema","inputSchema":true}`,
		`{"name":"list_properties","inputSchema":{"type":"object","properties":["a"]}}`,
		`{"name":"text_required","inputSchema":{"type":"object","required":"x"}}`,
		`{"name":"string_type","inputSchema":{"type":"string"}}`,
		`"no tool"`, `null`,
		`{"name":"echo","inputSchema":{"type":"object"},"description":"the first echo"}`,
		`{"name":"nullable","inputSchema":{"type":["object","null"]}}`,
		`{"name":"php","inputSchema":{"type":"object","properties":[]}}`,
		`{"name":"word_hint","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"},"description":7}`,
	}
}

func (p *peer) call(m incoming) {
	var c struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(m.Params, &c)
	p.mu.Lock()
	p.calls++
	calls := p.calls
	p.mu.Unlock()
	if p.mode == "mortal" && calls > 2 {
		os.Exit(9)
	}
	var args struct {
		Text    string          `json:"text"`
		Result  json.RawMessage `json:"result"`
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Size    int             `json:"size"`
		Piece   json.RawMessage `json:"piece"`
		What    string          `json:"what"`
		Raw     []byte          `json:"raw"`
	}
	_ = json.Unmarshal(c.Arguments, &args)
	switch c.Name {
	case "echo":
		p.result(m.ID, textResult(args.Text))
	case "say":
		switch {
		case len(args.Raw) > 0:
			p.write(strings.ReplaceAll(string(args.Raw), "ID", string(m.ID)))
		case len(args.Piece) > 0:
			pieces := strings.Repeat(string(args.Piece)+",", args.Size)
			p.result(m.ID, `{"content":[`+strings.TrimSuffix(pieces, ",")+`]}`)
		case args.Size > 64<<20:
			p.pour(m.ID, args.Size)
		case args.Size > 0:
			p.result(m.ID, textResult(strings.Repeat("x", args.Size)))
		case p.mode == "half":
			os.Stdout.WriteString(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[`)
		default:
			p.result(m.ID, string(args.Result))
		}
	case "refuse":
		p.refuse(m.ID, args.Code, args.Message)
	case "slow":
		p.slow(m.ID)
	case "ask":
		p.answer(m.ID, args.What)
	default:
		p.refuse(m.ID, -32602, "Unknown tool: "+c.Name)
	}
}

// pour is a result of so many bytes, on one line, that needs no memory here.
func (p *peer) pour(id json.RawMessage, size int) {
	os.Stdout.WriteString(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"content":[{"type":"text","text":"`)
	chunk := strings.Repeat("x", 1<<20)
	for range size >> 20 {
		if _, err := os.Stdout.WriteString(chunk); err != nil {
			os.Exit(1)
		}
	}
	os.Stdout.WriteString(`"}]}}` + "\n")
}

// answer tells what the test wants to know of this process.
func (p *peer) answer(id json.RawMessage, what string) {
	p.mu.Lock()
	cancelled, answers := slices.Clone(p.cancelled), slices.Clone(p.answers)
	p.mu.Unlock()
	switch what {
	case "pid":
		p.result(id, textResult(fmt.Sprint(os.Getpid())))
	case "env":
		p.result(id, textResult(strings.Join(os.Environ(), "\n")))
	case "cwd":
		dir, _ := os.Getwd()
		p.result(id, textResult(dir))
	case "cancelled":
		p.result(id, textResult(strings.Join(cancelled, "\n")))
	case "answers":
		p.result(id, textResult(strings.Join(answers, "\n")))
	case "grow":
		p.mu.Lock()
		p.tools = append(p.tools, `{"name":"grown","inputSchema":{"type":"object"}}`)
		p.mu.Unlock()
		for range 5 {
			p.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		p.result(id, textResult("grown"))
	case "nearly a flood":
		os.Stdout.WriteString(strings.Repeat("busy\n", floodLines-1))
		p.result(id, textResult("done"))
	case "lists":
		p.mu.Lock()
		n := p.lists
		p.mu.Unlock()
		p.result(id, textResult(fmt.Sprint(n)))
	case "close":
		os.Stdout.Close()
		time.Sleep(time.Hour)
	default:
		p.misbehave(id, what)
	}
}

func (p *peer) slow(id json.RawMessage) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p.mu.Lock()
	p.running[string(id)] = cancel
	if p.ended {
		cancel()
	}
	p.mu.Unlock()
	go func() {
		<-ctx.Done()
		if context.Cause(ctx) == context.DeadlineExceeded {
			p.result(id, textResult("done"))
		}
	}()
}

// end gives up what is running.
func (p *peer) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, cancel := range p.running {
		cancel()
	}
}

func (p *peer) cancel(params json.RawMessage) {
	var c struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(params, &c)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancelled = append(p.cancelled, string(c.RequestID))
	if cancel, ok := p.running[string(c.RequestID)]; ok {
		cancel()
	}
}

func textResult(text string) string {
	quoted, _ := json.Marshal(text)
	return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
}
