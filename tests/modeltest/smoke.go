package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// Endpoint is a real model to try, as the environment names it.
type Endpoint struct {
	BaseURL string       // DRAGOMAN_SMOKE_BASE_URL; "" = the adapter's default
	APIKey  ports.Secret // DRAGOMAN_SMOKE_API_KEY; "" = none
	Model   string       // DRAGOMAN_SMOKE_NAME: the provider's name of the model
	API     string       // DRAGOMAN_SMOKE_API: the wire, of an adapter that has several; "" = its default
}

// Smoke tries a real model: a text, a stream, a tool's round, a text where it may
// not call, a picture. It costs a few hundred tokens and runs only where
// DRAGOMAN_SMOKE_MODEL is the adapter's type in the config.
func Smoke(t *testing.T, adapter string, build func(Endpoint) (ports.ModelPort, error)) {
	t.Helper()
	if os.Getenv("DRAGOMAN_SMOKE_MODEL") != adapter {
		t.Skipf("SKIPPED, not proven: no real model is named. To try one: DRAGOMAN_SMOKE_MODEL=%s DRAGOMAN_SMOKE_NAME=… DRAGOMAN_SMOKE_API_KEY=… [DRAGOMAN_SMOKE_BASE_URL=…] [DRAGOMAN_SMOKE_API=…] go test -count=1 -v -run Smoke ./adapters/%s", adapter, adapter)
	}
	m, err := build(Endpoint{
		BaseURL: os.Getenv("DRAGOMAN_SMOKE_BASE_URL"),
		APIKey:  ports.Secret(os.Getenv("DRAGOMAN_SMOKE_API_KEY")),
		Model:   os.Getenv("DRAGOMAN_SMOKE_NAME"),
		API:     os.Getenv("DRAGOMAN_SMOKE_API"),
	})
	if err != nil {
		t.Fatal(err)
	}
	const patience = 3 * time.Minute // a local model may have to be loaded first
	run(t, SmokeRules(), Harness{Model: m}, patience)
}

// SmokeRules are what a real model should do when told plainly. They need no peer.
func SmokeRules() []Rule {
	return []Rule{
		{"it says what it is told to", "without this there is no chat", smokeText},
		{"it speaks as a stream", "people read while it writes", smokeStream},
		{"it calls a tool and reads its result", "without this there is no gateway", smokeTool},
		{"it answers without tools where it may not call", "a turn at its limits ends with words", smokeNoCalls},
		{"it sees a picture", "people send pictures", smokePicture},
	}
}

func smokeText(ctx context.Context, h Harness) error {
	reply, err := h.Model.Generate(ctx, told("Reply with this word and nothing else: pong"), nil)
	switch {
	case err != nil:
		return err
	case !says(reply, "pong") || reply.Stop != ports.StopEnd:
		return fmt.Errorf("told to say pong, the reply is %s", show(reply))
	case reply.Usage.Input == 0 || reply.Usage.Output == 0:
		return fmt.Errorf("it does not tell its tokens: %+v", reply.Usage)
	}
	return nil
}

func smokeStream(ctx context.Context, h Harness) error {
	deltas, reply, err := listen(ctx, h, told("Count from one to thirty in English words, divided by commas."))
	switch {
	case err != nil:
		return err
	case strings.Join(deltas, "") != reply.Text || len(deltas) < 2:
		return fmt.Errorf("%d deltas give %q, the reply's text is %q", len(deltas), strings.Join(deltas, ""), reply.Text)
	case !says(reply, "thirty"):
		return fmt.Errorf("told to count to thirty, the reply is %s", show(reply))
	}
	return nil
}

// vault is a request that can be answered only by calling its tool.
func vault() ports.ModelRequest {
	r := told(`Open the vault "blue" with the tool and tell me the number in it.`)
	r.Tools = []ports.ToolSpec{{
		Name: "bank__open_vault", Description: "Opens a vault and returns the number that lies in it.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"vault":{"type":"string","description":"Name of the vault"}},"required":["vault"]}`),
	}}
	return r
}

func smokeTool(ctx context.Context, h Harness) error {
	r := vault()
	reply, err := h.Model.Generate(ctx, r, nil)
	if err != nil {
		return err
	}
	if err := sound(reply); err != nil {
		return err
	}
	call := reply.Calls[0]
	if len(reply.Calls) != 1 || call.Name != r.Tools[0].Name || !bytes.Contains(call.Arguments, []byte(`"blue"`)) {
		return fmt.Errorf("told to open the vault blue, it called %s", show(reply.Calls))
	}
	r.Entries = append(r.Entries,
		ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, Calls: reply.Calls, State: reply.State, Model: reply.Model},
		ports.Entry{Role: ports.RoleTool, CallID: call.ID, Text: "In it lies the number 48213."})
	if reply, err = h.Model.Generate(ctx, r, nil); err == nil && !says(reply, "48213") {
		return fmt.Errorf("the vault holds 48213, the reply is %s", show(reply))
	}
	return err
}

func smokeNoCalls(ctx context.Context, h Harness) error {
	r := vault()
	r.NoCalls = true
	reply, err := h.Model.Generate(ctx, r, nil)
	if err == nil && (len(reply.Calls) > 0 || reply.Text == "") {
		return fmt.Errorf("asked for text alone, the reply is %s", show(reply))
	}
	return err
}

func smokePicture(ctx context.Context, h Harness) error {
	if d, ok := h.Model.(ports.ModelDescriber); ok && !d.Facts().Images {
		return fmt.Errorf("this model takes no pictures: %w", errors.ErrUnsupported)
	}
	raw, err := redSquare()
	if err != nil {
		return err
	}
	r := told("Which colour is this picture? Answer with one English word.")
	r.Entries[0].Blocks = []ports.Block{{Kind: ports.BlockImage, MIME: "image/png", Name: "square.png", Data: raw}}
	reply, err := h.Model.Generate(ctx, r, nil)
	if err == nil && !says(reply, "red") {
		return fmt.Errorf("the picture is red, the reply is %s", show(reply))
	}
	return err
}

func redSquare() ([]byte, error) {
	const size = 128
	square := image.NewPaletted(image.Rect(0, 0, size, size), color.Palette{color.RGBA{R: 255, A: 255}})
	var out bytes.Buffer
	err := png.Encode(&out, square)
	return out.Bytes(), err
}

// told is a request of one sentence.
func told(text string) ports.ModelRequest {
	return ports.ModelRequest{
		System:    "You are being tested. Do exactly what you are told.",
		Entries:   []ports.Entry{{Role: ports.RoleUser, Text: text}},
		MaxTokens: 2000, // a model that reasons needs them before its first word
	}
}

func says(reply ports.ModelReply, word string) bool {
	return strings.Contains(strings.ToLower(reply.Text), word)
}
