package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"dragoman/ports"
)

// chatParams is the request's body. Equal requests give equal bytes: the
// providers' prompt caches depend on it.
func (m *Model) chatParams(r ports.ModelRequest) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:         m.cfg.Model,
		Messages:      m.messages(r),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	if m.cfg.ReasoningEffort != "" {
		p.ReasoningEffort = shared.ReasoningEffort(m.cfg.ReasoningEffort)
	}
	limit := int64(r.MaxTokens)
	if limit <= 0 {
		limit = int64(m.cfg.MaxOutputTokens)
	}
	if m.official {
		p.MaxCompletionTokens = param.NewOpt(limit)
	} else {
		p.MaxTokens = param.NewOpt(limit)
	}
	for _, t := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: parameters(t.InputSchema)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	return p
}

// parameters are a tool's projected schema. Its parts go in as JSON, since the
// SDK's own encoder would write a json.Number as a string.
func parameters(pristine json.RawMessage) shared.FunctionParameters {
	out := shared.FunctionParameters{}
	for key, value := range projectSchema(pristine) {
		raw, err := json.Marshal(value)
		if err != nil {
			continue // cannot be: it was decoded from JSON
		}
		out[key] = json.RawMessage(raw)
	}
	return out
}

func (m *Model) messages(r ports.ModelRequest) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	if r.System != "" {
		out = append(out, sdk.SystemMessage(r.System))
	}
	// A tool message takes text alone and must follow its call directly, so what
	// tools showed goes into a user message behind the last result of the row.
	var shown []sdk.ChatCompletionContentPartUnionParam
	for _, e := range r.Entries {
		if e.Role != ports.RoleTool && len(shown) > 0 {
			out, shown = append(out, sdk.UserMessage(shown)), nil
		}
		switch e.Role {
		case ports.RoleUser:
			out = append(out, userMessage(e))
		case ports.RoleAssistant:
			if msg, ok := m.assistantMessage(e); ok {
				out = append(out, msg)
			}
		case ports.RoleTool:
			text, media := toolContent(e)
			out = append(out, sdk.ToolMessage(text, e.CallID))
			if len(media) > 0 {
				shown = append(shown, sdk.TextContentPart("What the tool call "+e.CallID+" returned beside its text:"))
				shown = append(shown, media...)
			}
		}
	}
	if len(shown) > 0 {
		out = append(out, sdk.UserMessage(shown))
	}
	return out
}

func userMessage(e ports.Entry) sdk.ChatCompletionMessageParamUnion {
	if len(e.Blocks) == 0 {
		return sdk.UserMessage(e.Text)
	}
	var parts []sdk.ChatCompletionContentPartUnionParam
	if e.Text != "" {
		parts = append(parts, sdk.TextContentPart(e.Text))
	}
	for _, b := range e.Blocks {
		if part, ok := mediaPart(b); ok {
			parts = append(parts, part)
		} else {
			parts = append(parts, sdk.TextContentPart(blockText(b)))
		}
	}
	return sdk.UserMessage(parts)
}

// assistantMessage is false for an entry that says nothing: the wire refuses it.
func (m *Model) assistantMessage(e ports.Entry) (sdk.ChatCompletionMessageParamUnion, bool) {
	msg := sdk.ChatCompletionAssistantMessageParam{}
	text := e.Text
	for _, b := range e.Blocks {
		text = joinLines(text, blockText(b))
	}
	if text == "" && len(e.Calls) == 0 {
		return sdk.ChatCompletionMessageParamUnion{}, false
	}
	if text != "" {
		msg.Content.OfString = param.NewOpt(text)
	}
	ours := e.Model == m.name
	for _, c := range e.Calls {
		call := &sdk.ChatCompletionMessageFunctionToolCallParam{
			ID:       c.ID,
			Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: replayArguments(c.Arguments)},
		}
		if extra := extraFields(c.State); ours && extra != nil {
			call.SetExtraFields(extra)
		}
		msg.ToolCalls = append(msg.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: call})
	}
	if extra := extraFields(e.State); ours && extra != nil {
		msg.SetExtraFields(extra)
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &msg}, true
}

// toolContent splits a tool's result into what a tool message can say and what
// has to be shown beside it.
func toolContent(e ports.Entry) (string, []sdk.ChatCompletionContentPartUnionParam) {
	text := e.Text
	var media []sdk.ChatCompletionContentPartUnionParam
	for _, b := range e.Blocks {
		if part, ok := mediaPart(b); ok {
			media = append(media, part)
		} else {
			text = joinLines(text, blockText(b))
		}
	}
	switch {
	case e.IsError && text == "":
		text = "The tool call failed and gave no reason."
	case e.IsError:
		text = "The tool call failed: " + text
	case text == "" && len(media) > 0:
		text = "The result follows in the next message."
	case text == "":
		text = "The tool call succeeded and returned nothing."
	}
	return text, media
}

// mediaPart is an image or a sound in the forms that the wire knows.
func mediaPart(b ports.Block) (sdk.ChatCompletionContentPartUnionParam, bool) {
	switch b.Kind {
	case ports.BlockImage:
		switch b.MIME {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			return sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{
				URL: "data:" + b.MIME + ";base64," + base64.StdEncoding.EncodeToString(b.Data),
			}), true
		}
	case ports.BlockAudio:
		if format, ok := audioFormats[b.MIME]; ok {
			return sdk.InputAudioContentPart(sdk.ChatCompletionContentPartInputAudioInputAudioParam{
				Data: base64.StdEncoding.EncodeToString(b.Data), Format: format,
			}), true
		}
	}
	return sdk.ChatCompletionContentPartUnionParam{}, false
}

var audioFormats = map[string]string{"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}

// blockText is a block in words, for where the wire has no place for it.
func blockText(b ports.Block) string {
	switch {
	case b.Kind == ports.BlockLink:
		return strings.TrimSpace(fmt.Sprintf("[link %s %s] %s", b.Name, b.URI, b.Text))
	case b.Text != "" && b.URI != "":
		return "[" + b.URI + "]\n" + b.Text
	case b.Text != "":
		return b.Text
	}
	name := b.Name
	if name == "" {
		name = b.URI
	}
	return strings.Join(strings.Fields(fmt.Sprintf("[%s %s %s, %d bytes, not shown]", b.Kind, name, b.MIME, len(b.Data))), " ")
}

// replayArguments is a recorded call's arguments as the wire wants them: a JSON
// object in a string. Chat templates of local servers parse it and fail the
// whole request on anything else, so what is no object goes into one.
func replayArguments(args json.RawMessage) string {
	switch {
	case len(args) == 0:
		return "{}"
	case isObject(args):
		return string(args)
	}
	wrapped, err := json.Marshal(map[string]json.RawMessage{"invalid_arguments": args})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
