//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// folderVar tells a test gateway its data folder.
const folderVar = "DRAGOMAN_TEST_FOLDER"

// misbehave is answer for what a process can do beside MCP.
func (p *peer) misbehave(id json.RawMessage, what string) {
	switch what {
	case "fork away":
		p.result(id, textResult(fmt.Sprint(forkDeserter(true))))
	case "fork beside":
		p.result(id, textResult(fmt.Sprint(forkDeserter(false))))
	case "close stdin":
		p.result(id, textResult("closing"))
		os.Stdin.Close()
		time.Sleep(time.Hour)
	case "flood stderr":
		for range 64 {
			os.Stderr.WriteString(strings.Repeat("x", 1<<20))
		}
		os.Stderr.WriteString("\nthe last line\n")
		p.result(id, textResult("flooded"))
	case "leave":
		os.Exit(0)
	}
}

// forkDeserter starts a process that ignores SIGTERM and sees nothing of us but
// our environment; away: in a session of its own.
func forkDeserter(away bool) int {
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), modeVar+"=deserter")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: away}
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1)) // it ignores signals from now on
	}
	if err != nil {
		panic(err)
	}
	return child.Process.Pid
}

func desert() {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("deserted")
	time.Sleep(time.Hour)
}

// forkAway has the server of a test gateway fork, and prints the process ids.
func (a announcer) forkAway() {
	for i, how := range []string{"fork away", "fork beside"} {
		result, err := called(context.Background(), sessionOf(a.src).link, int64(i), "ask", how)
		if err != nil {
			fmt.Println("forked", err)
			return
		}
		fmt.Println("forked", regexp.MustCompile(`[0-9]+`).FindString(string(result)))
	}
}

// called asks over a link what needs no session.
func called(ctx context.Context, l link, id int64, tool, what string) (json.RawMessage, error) {
	answer, err := l.SendRequest(ctx, transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(1000 + id), Method: "tools/call",
		Params: map[string]any{"name": tool, "arguments": map[string]string{"what": what}}})
	if err != nil {
		return nil, wrapCall("tools/call", err)
	}
	return answer.Result, nil
}

func asked(ctx context.Context, l link, id int64, what string) error {
	_, err := called(ctx, l, id, "ask", what)
	return err
}
