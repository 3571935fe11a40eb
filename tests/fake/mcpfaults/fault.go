package mcpfaults

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
)

// Transport is how a Fault is reached.
type Transport string

const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse" // HTTP as revision 2024-11-05 had it: a stream, and an endpoint that it names
)

// Fault is one way to misbehave.
type Fault struct {
	Name string
	Why  string // what a client may get wrong about it
	Over Transport

	begin func(*peer)                // over stdio: before anything is read
	say   func(*peer, message) bool  // over stdio: takes a message, or leaves it to the good server
	web   func(*Server, *visit) bool // over HTTP: the same for a request
}

// Faults lists all faults. Their names are unique.
func Faults() []Fault {
	return slices.Concat(handshakes(), moderns(), lines(), floods(), lists(), malformedTools(), schemas(), results(), processes(), refusals(), sessions(), bodies(), streams(), olderStreams())
}

// Find is the fault of that name.
func Find(name string) (Fault, bool) {
	all := Faults()
	i := slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, false
	}
	return all[i], true
}

// Mended reports whether the switch is thrown: the file is there.
func Mended(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}

// message is what a client sends, as far as anybody here looks.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Name            string          `json:"name"`
		Cursor          string          `json:"cursor"`
		RequestID       json.RawMessage `json:"requestId"`
		Arguments       struct {
			Text string `json:"text"`
		} `json:"arguments"`
		Meta struct {
			Progress json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// acts reports whether m calls the tool that a fault may show in.
func (m message) acts() bool { return m.Method == "tools/call" && m.Params.Name == "act" }

// asks reports whether m is a request.
func (m message) asks() bool { return m.Method != "" && len(m.ID) > 0 }

// visit is one HTTP request.
type visit struct {
	w http.ResponseWriter
	r *http.Request
	message
}
