package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// TestTheSDKSendsTheSameOverResponses says fullOverResponses in the SDK's own words.
func TestTheSDKSendsTheSameOverResponses(t *testing.T) {
	sent := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent <- body
		newSSE(w).frame(completedEvent)
	}))
	t.Cleanup(server.Close)

	const png = "data:image/png;base64,iVBORw=="
	text := responses.ResponseInputContentParamOfInputText
	shown := &responses.ResponseInputImageContentParam{ImageURL: sdk.String(png), Detail: responses.ResponseInputImageContentDetailAuto}
	call := responses.ResponseInputItemParamOfFunctionCall
	answered := func(id string, item responses.ResponseInputItemUnionParam) responses.ResponseInputItemUnionParam {
		item.OfFunctionCallOutput.CallID = sdk.String(id)
		return item
	}
	said := responses.ResponseInputItemParamOfFunctionCallOutput[string]
	parts := responses.ResponseInputItemParamOfFunctionCallOutput[responses.ResponseFunctionCallOutputItemListParam]
	message := func(item responses.ResponseInputItemUnionParam) responses.ResponseInputItemUnionParam {
		item.OfMessage.Type = responses.EasyInputMessageTypeMessage
		return item
	}
	params := responses.ResponseNewParams{
		Model: "test-1", Instructions: sdk.String("Be brief."), MaxOutputTokens: sdk.Int(77), Store: sdk.Bool(false),
		Include:        []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		PromptCacheKey: sdk.String("conversation-1"), ParallelToolCalls: sdk.Bool(true),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			message(responses.ResponseInputItemParamOfMessage(responses.ResponseInputMessageContentListParam{
				text("Look."), {OfInputImage: &responses.ResponseInputImageParam{ImageURL: sdk.String(png), Detail: responses.ResponseInputImageDetailAuto}},
				text("[audio, not shown: this model takes none]"), text("[image scan.tiff image/tiff, 4 bytes, not shown]"),
				text("[file:///a.txt]\nrain"), text("[link site https://example.org/] a page"),
			}, responses.EasyInputMessageRoleUser)),
			{OfReasoning: &responses.ResponseReasoningItemParam{Summary: []responses.ResponseReasoningItemSummaryParam{}, EncryptedContent: sdk.String("c2VjcmV0")}},
			call(`{"n":12345678901234567890}`, "c1", "a__look"), call(`{"invalid_arguments":"{\"n"}`, "c2", "b__look"), call(`{}`, "c3", "b__look"), call(`{}`, "c4", "b__look"),
			answered("c1", parts(responses.ResponseFunctionCallOutputItemListParam{{OfInputText: &responses.ResponseInputTextContentParam{Text: "a cat"}}, {OfInputImage: shown}})),
			answered("c2", said("The tool call failed: not an object")), answered("c3", said("The tool call failed and gave no reason.")), answered("c4", said("The tool call succeeded and returned nothing.")),
			message(responses.ResponseInputItemParamOfMessage("A cat.", responses.EasyInputMessageRoleAssistant)),
			call(`{}`, "c5", "a__look"), answered("c5", parts(responses.ResponseFunctionCallOutputItemListParam{{OfInputImage: shown}})),
		}},
		Tools: []responses.ToolUnionParam{
			{OfFunction: &responses.FunctionToolParam{Name: "a__look", Description: sdk.String("Looks."), Strict: sdk.Bool(false), Parameters: map[string]any{
				"type": "object", "properties": json.RawMessage(`{"n":{"type":"integer","maximum":9007199254740993}}`)}}},
			{OfFunction: &responses.FunctionToolParam{Name: "b__look", Strict: sdk.Bool(false), Parameters: map[string]any{"type": "object", "properties": map[string]any{}}}},
		},
	}
	c := vendor(t, server.URL+"/v1")
	for s := c.Responses.NewStreaming(t.Context(), params); s.Next(); {
	}
	ours, err := testModel(t, "http://model.test/v1", overResponses).responsesBody(fullOverResponses(), options{cipher: true, state: true})
	if err != nil {
		t.Fatal(err)
	}
	// The SDK cannot leave out the id of reasoning, which is nobody's when nothing is stored.
	theirs := strings.Replace(string(<-sent), `"id":"",`, "", 1)
	if theirs := canonical(t, theirs); canonical(t, string(ours)) != theirs {
		t.Errorf("the SDK sends\n%s\nand we\n%s", theirs, ours)
	}
}

// TestTheSDKReadsTheSameOverResponses has both read what keeps to the standard.
func TestTheSDKReadsTheSameOverResponses(t *testing.T) {
	p := newPeer(t)
	c := vendor(t, p.URL+"/v1")
	m := testModel(t, p.URL+"/v1", overResponses)
	tokens := ports.Tokens{Input: 19, CachedInput: 16, Output: 10}
	for name, act := range map[string]modeltest.Act{
		"text":  {Do: modeltest.Reply, Text: "Grüße 😀 \"a\\b\"\n<&> ", Usage: tokens},
		"calls": {Do: modeltest.Reply, Text: "Let me see.", State: "cipher", Calls: []ports.Call{{ID: "a", Name: "n", Arguments: json.RawMessage(`{"city": "Os lo"}`)}, {ID: "b", Name: "m", Arguments: json.RawMessage(`{}`)}}, Usage: tokens},
		"cut":   {Do: modeltest.Length, Text: "Half an ans", Usage: tokens},
	} {
		t.Run(name, func(t *testing.T) {
			if err := p.script(t.Context(), act); err != nil {
				t.Fatal(err)
			}
			var end responses.Response
			var deltas strings.Builder
			s := c.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{Model: "m", MaxOutputTokens: sdk.Int(16), Store: sdk.Bool(false),
				Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{{OfMessage: &responses.EasyInputMessageParam{
					Type: "message", Role: "user", Content: responses.EasyInputMessageContentUnionParam{OfString: sdk.String("Hello!")}}}}}})
			for s.Next() {
				switch e := s.Current(); e.Type {
				case "response.output_text.delta":
					deltas.WriteString(e.Delta)
				case "response.completed", "response.incomplete":
					end = e.Response
				}
			}
			if s.Err() != nil || end.OutputText() != deltas.String() {
				t.Fatalf("the SDK reads %+v, %v", end, s.Err())
			}
			want := ports.ModelReply{Text: end.OutputText(), Usage: ports.Tokens{Input: int(end.Usage.InputTokens), CachedInput: int(end.Usage.InputTokensDetails.CachedTokens), Output: int(end.Usage.OutputTokens)}}
			for _, o := range end.Output {
				if o.Type == "function_call" {
					want.Calls = append(want.Calls, ports.Call{ID: o.CallID, Name: o.Name, Arguments: json.RawMessage(o.AsFunctionCall().Arguments)})
				}
			}
			got, err := m.Generate(t.Context(), hello(), nil)
			if err != nil || got.Text != want.Text || !slices.Equal(calls(got), calls(want)) || got.Usage != want.Usage || got.Text != act.Text || len(got.Calls) != len(act.Calls) {
				t.Errorf("we read %+v, %v; the SDK %+v", got, err, want)
			}
		})
	}
}
