package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"dragoman/ports"
)

// vendor is a client of the vendor's own SDK, which the adapter does without.
func vendor(t *testing.T, base string) sdk.Client {
	t.Helper()
	h := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(h.CloseIdleConnections)
	return sdk.NewClient(option.WithBaseURL(base), option.WithAPIKey(testKey), option.WithHTTPClient(h), option.WithMaxRetries(0))
}

// TestTheSDKSendsTheSame says fullRequest in the SDK's own words.
func TestTheSDKSendsTheSame(t *testing.T) {
	sent := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent <- body
		newSSE(w).frame(oneWord)
	}))
	t.Cleanup(server.Close)

	picture := sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64,iVBORw=="})
	call := func(id, name, arguments string) sdk.ChatCompletionMessageToolCallUnionParam {
		return sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
			ID: id, Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: name, Arguments: arguments}}}
	}
	first := sdk.ChatCompletionAssistantMessageParam{ToolCalls: []sdk.ChatCompletionMessageToolCallUnionParam{
		call("c1", "a__look", `{"n":12345678901234567890}`), call("c2", "b__look", `{"invalid_arguments":"{\"n"}`), call("c3", "b__look", `{}`), call("c4", "b__look", `{}`)}}
	first.ToolCalls[0].OfFunction.SetExtraFields(map[string]any{"extra_content": json.RawMessage(`{"google":{"thought_signature":"s"}}`)})
	first.SetExtraFields(map[string]any{"reasoning_content": "hm"})
	second := sdk.ChatCompletionAssistantMessageParam{ToolCalls: []sdk.ChatCompletionMessageToolCallUnionParam{call("c5", "a__look", `{}`)}}
	second.Content.OfString = sdk.String("A cat.")
	params := sdk.ChatCompletionNewParams{
		Model: "test-1", MaxTokens: sdk.Int(77), StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
		Messages: []sdk.ChatCompletionMessageParamUnion{
			sdk.SystemMessage("Be brief."),
			sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{
				sdk.TextContentPart("Look."), picture,
				sdk.InputAudioContentPart(sdk.ChatCompletionContentPartInputAudioInputAudioParam{Data: "bXAz", Format: "mp3"}),
				sdk.TextContentPart("[image scan.tiff image/tiff, 4 bytes, not shown]"),
				sdk.TextContentPart("[file:///a.txt]\nrain"), sdk.TextContentPart("[link site https://example.org/] a page"),
			}),
			{OfAssistant: &first},
			sdk.ToolMessage("a cat", "c1"), sdk.ToolMessage("The tool call failed: not an object", "c2"),
			sdk.ToolMessage("The tool call failed and gave no reason.", "c3"), sdk.ToolMessage("The tool call succeeded and returned nothing.", "c4"),
			sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{sdk.TextContentPart("What the tool call c1 returned beside its text:"), picture}),
			{OfAssistant: &second},
			sdk.ToolMessage("The result follows in the next message.", "c5"),
			sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{sdk.TextContentPart("What the tool call c5 returned beside its text:"), picture}),
		},
		Tools: []sdk.ChatCompletionToolUnionParam{
			sdk.ChatCompletionFunctionTool(sdk.FunctionDefinitionParam{Name: "a__look", Description: sdk.String("Looks."), Parameters: sdk.FunctionParameters{
				"type": "object", "properties": json.RawMessage(`{"n":{"type":"integer","maximum":9007199254740993}}`)}}),
			sdk.ChatCompletionFunctionTool(sdk.FunctionDefinitionParam{Name: "b__look", Parameters: sdk.FunctionParameters{"type": "object", "properties": map[string]any{}}}),
		},
	}
	c := vendor(t, server.URL+"/v1")
	for s := c.Chat.Completions.NewStreaming(t.Context(), params); s.Next(); {
	}
	ours, err := testModel(t, "http://model.test/v1").body(fullRequest())
	if err != nil {
		t.Fatal(err)
	}
	if theirs := canonical(t, string(<-sent)); canonical(t, string(ours)) != theirs {
		t.Errorf("the SDK sends\n%s\nand we\n%s", theirs, ours)
	}
}

// TestTheSDKReadsTheSame has both read the streams that keep to the standard.
func TestTheSDKReadsTheSame(t *testing.T) {
	p := newPeer(t)
	c := vendor(t, p.URL+"/v1")
	m := testModel(t, p.URL+"/v1")
	for name, frames := range map[string][]string{
		"text": {
			`{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}`,
			`{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Gr\u00fc\u00dfe \ud83d\ude00 "},"finish_reason":null}]}`,
			`{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"\"a\\b\"\n<&>"},"finish_reason":null}]}`,
			`{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":16,"cache_write_tokens":2,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":3}}}`,
			`[DONE]`,
		},
		"calls": {
			`{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"Let me see.","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"n","arguments":""}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Os"}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"m","arguments":"{}"}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"lo\"}"}}]},"finish_reason":null}]}`,
			`{"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11}}`,
			`[DONE]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p.says(frames...)
			var theirs sdk.ChatCompletionAccumulator
			var usage sdk.CompletionUsage // the accumulator leaves out what was written to the cache
			s := c.Chat.Completions.NewStreaming(t.Context(), sdk.ChatCompletionNewParams{Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("Hello!")}})
			for s.Next() {
				if u := s.Current().Usage; u.TotalTokens > 0 {
					usage = u
				}
				if !theirs.AddChunk(s.Current()) {
					t.Fatal("the SDK takes no chunk more")
				}
			}
			if s.Err() != nil || len(theirs.Choices) != 1 {
				t.Fatalf("the SDK reads %+v, %v", theirs, s.Err())
			}
			want := ports.ModelReply{Text: theirs.Choices[0].Message.Content}
			for _, c := range theirs.Choices[0].Message.ToolCalls {
				want.Calls = append(want.Calls, ports.Call{ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments)})
			}
			want.Usage = ports.Tokens{Input: int(usage.PromptTokens), CachedInput: int(usage.PromptTokensDetails.CachedTokens),
				CacheWrite: int(usage.PromptTokensDetails.CacheWriteTokens), Output: int(usage.CompletionTokens)}
			got, err := m.Generate(t.Context(), hello(), nil)
			if err != nil || got.Text != want.Text || !slices.Equal(calls(got), calls(want)) || got.Usage != want.Usage {
				t.Errorf("we read %+v, %v; the SDK %+v", got, err, want)
			}
		})
	}
}
