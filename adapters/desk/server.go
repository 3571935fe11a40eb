package desk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// maxMessage is the longest request that is read.
	maxMessage = 1 << 20
	// maxAtOnce is how many requests are worked on at a time.
	maxAtOnce = 16
	version   = "1.0.0"
)

// Serve speaks MCP (2024-11-05 to 2026-07-28) on in and out, one message per
// line, until in ends (nil) or ctx does (its error). It waits for the requests
// it began. A read that in does not end when ctx does is left behind: Serve is
// for a process that has nothing else to do.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	d := &desk{server: newServer(), out: out, slots: make(chan struct{}, maxAtOnce)}
	defer d.wg.Wait()
	defer cancel()
	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() { ended <- readLines(ctx, in, lines) }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			d.wg.Wait() // what was asked before the end of in is answered
			return errors.Join(err, d.fault())
		case line := <-lines:
			if err := d.take(ctx, line); err != nil {
				return err
			}
		}
	}
}

// desk is one Serve. mcp-go's own stdio loop is not used: its session is one
// for the whole process, and it reads lines of any length.
type desk struct {
	server *server.MCPServer
	slots  chan struct{}
	wg     sync.WaitGroup

	mu  sync.Mutex
	out io.Writer
	err error // of the first write that failed
}

func newServer() *server.MCPServer {
	s := server.NewMCPServer("dragoman-desk", version, server.WithToolCapabilities(false), server.WithRecovery())
	s.AddTools(worldClock(), calculator(), dice())
	return s
}

// take serves one message beside the reading.
func (d *desk) take(ctx context.Context, line []byte) error {
	select {
	case d.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	d.wg.Go(func() {
		defer func() { <-d.slots }()
		if answer := d.server.HandleMessage(ctx, line); answer != nil {
			d.write(answer)
		}
	})
	return d.fault()
}

func (d *desk) write(answer mcp.JSONRPCMessage) {
	line, err := json.Marshal(answer)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && d.err == nil {
		_, err = d.out.Write(append(line, '\n'))
	}
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("write an answer: %w", err)
	}
}

func (d *desk) fault() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// readLines hands over the lines of in until it ends, or ctx does.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 4<<10), maxMessage)
	for scanner.Scan() {
		if len(scanner.Bytes()) == 0 {
			continue
		}
		select {
		case lines <- append([]byte(nil), scanner.Bytes()...):
		case <-ctx.Done():
			return nil
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	return nil
}

// text is a tool that only reads, of one text argument. An error of run is the
// tool's own failure, in words for the model.
type text struct {
	name, title, description string
	argument, about          string
	repeatable               bool // gives the same again for the same argument
	run                      func(argument string) (string, error)
}

func (t text) tool() server.ServerTool {
	schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string","minLength":1,"maxLength":%d,"description":%q}},"required":[%q],"additionalProperties":false}`,
		t.argument, maxArgument, t.about, t.argument)
	tool := mcp.NewToolWithRawSchema(t.name, t.description, json.RawMessage(schema))
	tool.Annotations = mcp.ToolAnnotation{
		Title:           t.title,
		ReadOnlyHint:    mcp.ToBoolPtr(true),
		DestructiveHint: mcp.ToBoolPtr(false),
		IdempotentHint:  mcp.ToBoolPtr(t.repeatable),
		OpenWorldHint:   mcp.ToBoolPtr(false),
	}
	return server.ServerTool{Tool: tool, Handler: t.handle}
}

func (t text) handle(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	argument, err := r.RequireString(t.argument)
	switch {
	case err != nil:
		return mcp.NewToolResultError(fmt.Sprintf("%s is missing: %s", t.argument, t.about)), nil
	case len(argument) > maxArgument:
		return mcp.NewToolResultError(fmt.Sprintf("%s is longer than %d bytes", t.argument, maxArgument)), nil
	}
	answer, err := t.run(argument)
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(answer), nil
}

// maxArgument is the longest argument of a tool, in bytes.
const maxArgument = 500
