// Command loop is what the gateway is measured against: the least that answers a
// chat. It polls, asks the model, calls its tool and sends the answer, over the
// same wire and with the same client libraries as the gateway. It keeps what was
// said in memory so that its prompts are as long as the gateway's, and promises
// nothing: what it has taken and not answered is lost when it ends.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const (
	system      = "You are a helpful assistant in a chat. Answer briefly and in plain words."
	callTimeout = time.Minute
	connections = 128 // kept open to each peer
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("loop", flag.ContinueOnError)
	telegram := f.String("telegram", "", "the Bot API's URL with the token")
	model := f.String("model", "", "the model's base URL")
	mcp := f.String("mcp", "", "a gateway's binary, whose small MCP server is to be used; none without")
	if err := f.Parse(args); err != nil {
		return err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, connections
	client := &http.Client{Transport: transport}
	b := &bot{telegram: *telegram, http: client, history: map[int64][]openai.ChatCompletionMessageParamUnion{}}
	b.model = openai.NewClient(option.WithBaseURL(*model), option.WithAPIKey("sk-bench"), option.WithHTTPClient(client), option.WithMaxRetries(0))
	if *mcp != "" {
		tools, err := connect(ctx, *mcp)
		if err != nil {
			return err
		}
		defer tools.close()
		b.tools = tools
	}
	return b.poll(ctx)
}

// bot is the loop.
type bot struct {
	telegram string
	http     *http.Client
	model    openai.Client
	tools    *tools // nil = none
	work     sync.WaitGroup

	mu      sync.Mutex
	history map[int64][]openai.ChatCompletionMessageParamUnion
}

type update struct {
	ID      int64 `json:"update_id"`
	Message struct {
		Chat struct{ ID int64 }
		Text string
	}
}

// poll takes updates and answers each beside the others.
func (b *bot) poll(ctx context.Context) error {
	defer b.work.Wait()
	if err := b.call(ctx, "getMe", struct{}{}, nil); err != nil {
		return err
	}
	for offset := int64(0); ctx.Err() == nil; {
		var updates []update
		params := map[string]any{"offset": offset, "limit": 100, "timeout": 50, "allowed_updates": []string{"message"}}
		if err := b.call(ctx, "getUpdates", params, &updates); err != nil {
			if ctx.Err() != nil {
				break
			}
			return err
		}
		for _, u := range updates {
			offset = u.ID + 1
			b.work.Go(func() {
				if err := b.answer(ctx, u.Message.Chat.ID, u.Message.Text); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, err)
				}
			})
		}
	}
	return nil
}

// answer is one turn.
func (b *bot) answer(ctx context.Context, chat int64, text string) error {
	b.mu.Lock()
	said := append(b.history[chat], openai.UserMessage(text))
	b.mu.Unlock()
	for {
		reply, err := b.ask(ctx, said)
		if err != nil {
			return err
		}
		said = append(said, reply.ToParam())
		if len(reply.ToolCalls) == 0 {
			b.mu.Lock()
			b.history[chat] = said
			b.mu.Unlock()
			return b.send(ctx, chat, reply.Content)
		}
		for _, call := range reply.ToolCalls {
			result, err := b.tools.call(ctx, call.Function.Name, call.Function.Arguments)
			if err != nil {
				return err
			}
			said = append(said, openai.ToolMessage(result, call.ID))
		}
	}
}

func (b *bot) ask(ctx context.Context, said []openai.ChatCompletionMessageParamUnion) (openai.ChatCompletionMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	params := openai.ChatCompletionNewParams{
		Model: "bench", Messages: append([]openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system)}, said...),
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if b.tools != nil {
		params.Tools = b.tools.offered
	}
	stream := b.model.Chat.Completions.NewStreaming(ctx, params)
	defer stream.Close()
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	if len(all.Choices) == 0 {
		return openai.ChatCompletionMessage{}, fmt.Errorf("the model said nothing")
	}
	return all.Choices[0].Message, nil
}

// send waits as long as the platform says, if it says so.
func (b *bot) send(ctx context.Context, chat int64, text string) error {
	for {
		err := b.call(ctx, "sendMessage", map[string]any{"chat_id": chat, "text": text}, nil)
		wait, ok := err.(tooMany)
		if !ok {
			return err
		}
		select {
		case <-time.After(time.Duration(wait) * time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tooMany is a 429, in seconds to wait.
type tooMany int

func (t tooMany) Error() string { return fmt.Sprintf("too many requests, retry after %d s", int(t)) }

func (b *bot) call(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.telegram+"/"+method, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := b.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var answer struct {
		OK          bool
		Result      json.RawMessage
		Description string
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	switch {
	case res.StatusCode == http.StatusTooManyRequests:
		return tooMany(answer.Parameters.RetryAfter)
	case !answer.OK:
		return fmt.Errorf("%s: %s", method, answer.Description)
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}
