package model_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"dragoman/tests/fake/model"
)

func client(t *testing.T, s *model.Server) openai.Client {
	t.Helper()
	t.Cleanup(s.Close)
	h := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(h.CloseIdleConnections)
	return openai.NewClient(option.WithBaseURL(s.URL()), option.WithAPIKey("sk-none"), option.WithHTTPClient(h), option.WithMaxRetries(0))
}

// calculating calls a tool, and says what came back.
func calculating(r model.Request) model.Reply {
	if last := r.Last(); last.Role == "tool" {
		return model.Reply{Text: "Größe: " + last.Text}
	}
	return model.Reply{Text: "Let me see. ", Calls: []model.Call{{Name: r.Tools[0], Arguments: `{"of":"` + r.Said() + `"}`}}}
}

func params(messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "m", Messages: messages,
		Tools:         []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "sum"})},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
}

// A client library that knows the real wire reads both forms alike.
func TestForeignClient(t *testing.T) {
	for name, o := range map[string]model.Options{
		"one write": {Answer: calculating, Pieces: 7},
		"paced":     {Answer: calculating, Pieces: 3, Pace: time.Millisecond, Delay: time.Millisecond},
		"one piece": {Answer: calculating},
	} {
		t.Run(name, func(t *testing.T) {
			s := model.New(o)
			c := client(t, s)
			whole, err := c.Chat.Completions.New(t.Context(), params(openai.UserMessage("3")))
			if err != nil {
				t.Fatal(err)
			}
			first := stream(t, c, params(openai.SystemMessage("You add."), openai.UserMessage("3")))
			for form, r := range map[string]openai.ChatCompletion{"whole": *whole, "streamed": first} {
				m := r.Choices[0].Message
				if len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Name != "sum" || m.ToolCalls[0].Function.Arguments != `{"of":"3"}` ||
					m.Content != "Let me see. " || r.Choices[0].FinishReason != "tool_calls" || r.Usage.CompletionTokens == 0 {
					t.Errorf("%s: %+v", form, r)
				}
			}
			said := first.Choices[0].Message
			last := stream(t, c, params(openai.UserMessage("3"), said.ToParam(), openai.ToolMessage("six", said.ToolCalls[0].ID)))
			if last.Choices[0].Message.Content != "Größe: six" || last.Choices[0].FinishReason != "stop" {
				t.Errorf("the second reply is %+v", last)
			}
			if s.Calls() != 3 {
				t.Errorf("it counted %d calls", s.Calls())
			}
		})
	}
}

func stream(t *testing.T, c openai.Client, p openai.ChatCompletionNewParams) openai.ChatCompletion {
	t.Helper()
	var all openai.ChatCompletionAccumulator
	s := c.Chat.Completions.NewStreaming(t.Context(), p)
	for s.Next() {
		if !all.AddChunk(s.Current()) {
			t.Fatalf("a chunk does not fit: %s", s.Current().RawJSON())
		}
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return all.ChatCompletion
}

func TestRefuses(t *testing.T) {
	s := model.New(model.Options{})
	t.Cleanup(s.Close)
	for body, want := range map[string]string{
		`{`:                              "not JSON",
		`{"messages":[{"role":"user"}]}`: "no model",
		`{"model":"m"}`:                  "no messages",
		`{"model":"m","messages":[{"role":"clown","content":"x"}]}`:                                 "role",
		`{"model":"m","messages":[{"role":"user","content":7}]}`:                                    "content",
		`{"model":"m","messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`:               "not made right before",
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a"}]}]}`:                 "no result",
		`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"user"}]}`: "before the result",
	} {
		res, err := http.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Error struct{ Message string } }
		err = json.NewDecoder(res.Body).Decode(&answer)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusBadRequest || !strings.Contains(answer.Error.Message, want) {
			t.Errorf("%s: %d %q (%v), want %q", body, res.StatusCode, answer.Error.Message, err, want)
		}
	}
}

// Close does not wait for a thought.
func TestCloseCutsThinking(t *testing.T) {
	s := model.New(model.Options{Delay: time.Hour})
	failed := make(chan error, 1)
	go func() {
		res, err := http.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		if err == nil {
			_ = res.Body.Close()
			err = errors.New(res.Status)
		}
		failed <- err
	}()
	for deadline := time.Now().Add(5 * time.Second); s.Calls() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	s.Close()
	select {
	case <-failed:
	case <-time.After(5 * time.Second):
		t.Error("the caller still waits")
	}
}
