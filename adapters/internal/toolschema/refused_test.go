package toolschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

func listed(n int) []ports.ToolSpec {
	var tools []ports.ToolSpec
	for i := range n {
		tools = append(tools, ports.ToolSpec{Name: fmt.Sprintf("srv__tool-%d", i), InputSchema: json.RawMessage(`{}`)})
	}
	return tools
}

// Most of these are what people showed of real providers' answers.
func TestAComplaintNamesItsTool(t *testing.T) {
	for _, c := range []struct{ name, param, message, want string }{
		{"openai", "tools[2].parameters", "Invalid schema for function 'srv__tool-2': In context=('properties', 'value'), array schema missing items.", "srv__tool-2"},
		{"openai chat", "tools[0].function.parameters", "Invalid schema for function 'srv__tool-0': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.", "srv__tool-0"},
		{"openai without param", "", "Invalid schema for function 'srv__tool-3': In context=(), object schema missing properties.", "srv__tool-3"},
		{"openai, quoted by an API that keeps no param", "", "Invalid 'tools[3].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 2357 instead.", "srv__tool-3"},
		{"openai name", "tools[1].function.name", "Invalid 'tools[1].function.name': string does not match pattern.", "srv__tool-1"},
		{"openai type", "", "Invalid type for 'tools[3].function.parameters': expected an object, but got an array instead.", "srv__tool-3"},
		{"anthropic", "", "tools.3.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).", "srv__tool-3"},
		{"anthropic properties", "", "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", "srv__tool-0"},
		{"anthropic type", "", "tools.2.input_schema.type: Field required", "srv__tool-2"},
		{"anthropic name", "", "tools.1.FrontendRemoteMcpToolDefinition.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", "srv__tool-1"},
		{"dotted chat", "", "tools.3.function.parameters: Input should be a valid dictionary", "srv__tool-3"},
		{"gemini", "", "* GenerateContentRequest.tools[0].function_declarations[3].parameters.properties: should be non-empty for OBJECT type\n", "srv__tool-3"},
		{"gemini name", "", "The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations[2].name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore.", "srv__tool-2"},
		{"gemini unknown name", "", `Invalid JSON payload received. Unknown name "const" at 'tools[0].function_declarations[2].parameters.properties[8].value.any_of[0]': Cannot find field.`, "srv__tool-2"},
		{"gemini unknown name, quoted twice", "", `Invalid JSON payload received. Unknown name \"const\" at 'tools[0].function_declarations[2].parameters': Cannot find field.`, "srv__tool-2"},
		{"gemini value", "", `Invalid value at 'tools[0].function_declarations[1].parameters.properties[0].value.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), "any"`, "srv__tool-1"},
		{"vertex", "", "Unable to submit request because srv__tool-1 functionDeclaration parameters schema should be of type OBJECT", "srv__tool-1"},
		{"vertex, quoted", "", "Unable to submit request because `srv__tool-1` functionDeclaration `parameters.a` schema specified other fields alongside any_of.", "srv__tool-1"},
		{"groq", "", "invalid JSON schema for tool srv__tool-2, tools[2].function.parameters: `/properties/x`: value must be an object", "srv__tool-2"},
		{"rust", "", "Failed to deserialize the JSON body into the target type: tools[1].function.parameters: invalid type: null, expected a map at line 1 column 80", "srv__tool-1"},
		{"pydantic", "", "[{'type': 'dict_type', 'loc': ('body', 'tools', 3, 'function', 'parameters'), 'msg': 'Input should be a valid dictionary'}]", "srv__tool-3"},
		{"pydantic as JSON", "", `[{"type":"dict_type","loc":["body","tools",3,"function","parameters"],"msg":"Input should be a valid dictionary"}]`, "srv__tool-3"},
		{"pydantic in words", "", "1 validation error for ChatCompletionRequest\ntools.2.function.parameters\n  Input should be a valid dictionary", "srv__tool-2"},

		{"a tool beyond the list", "tools[9].parameters", "Invalid schema", ""},
		{"an absurd index", "tools[99999999999999999999].parameters", "", ""},
		{"a tool that is not ours", "", "Invalid schema for function 'other': In context=()", ""},
		{"too many tools", "tools", "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.", ""},
		{"names that are not unique", "", "tools: Tool names must be unique.", ""},
		{"a fault of the wire", "tools[0].type", "Invalid value: 'functon'. Supported values are: 'function'.", ""},
		{"another fault of the wire", "", "tools.2.custom.cache_control: A maximum of 4 blocks with cache_control may be provided. Found 5.", ""},
		{"and another", "tools[0].name", "Missing required parameter: 'tools[0].name'.", ""},
		{"a message", "messages[2].content", "Invalid value for 'content': tools[3].function.parameters", ""},
		{"a message that speaks of tools", "", "messages.4.content.0.text: tools.3.custom.input_schema: is what the user wrote", ""},
		{"an echo", "", "The prompt was refused: \"Invalid schema for function 'srv__tool-1': ha\"", ""},
		{"a call in the history", "messages[3].tool_calls[0].function.name", "Invalid 'messages[3].tool_calls[0].function.name': string does not match pattern.", ""},
		{"a key of a tool that points at another", "", `Invalid JSON payload received. Unknown name "x' at 'tools[0].function_declarations[1]" at 'contents[0]': Cannot find field.`, ""},
		{"a property of a tool that points at another", "tools[2].parameters", `Invalid schema for function 'srv__tool-2': In context=('properties', 'tools[1].function.parameters'), None is not of type 'object'`, "srv__tool-2"},
		{"overflow", "messages", "This model's maximum context length is 128000 tokens.", ""},
		{"nothing", "", "", ""},
	} {
		got, ok := Refused(listed(4), c.param, c.message)
		if !ok {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestARefusedToolIsInTheChainOfTheError(t *testing.T) {
	tools := NewTools(ForAnthropic, Anthropic)
	answer := &wire.ProviderError{Status: 400, Problem: wire.Problem{Message: "tools.1.custom.input_schema: JSON schema is invalid."}}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"refused", &ports.Error{Kind: ports.KindInvalid, Op: "anthropic", Err: answer}, "srv__tool-1"},
		{"a tool whose words sound like another fault", &ports.Error{Kind: ports.KindTooLarge, Op: "anthropic", Err: answer}, "srv__tool-1"},
		{"the same words of a server in trouble", &ports.Error{Kind: ports.KindTemporary, Op: "anthropic", Err: &wire.ProviderError{Status: 500, Problem: answer.Problem}}, ""},
		{"another error", &ports.Error{Kind: ports.KindInvalid, Op: "anthropic", Err: io.ErrUnexpectedEOF}, ""},
		{"none", nil, ""},
	} {
		_, err := tools.Done(listed(3), ports.ModelReply{}, c.err)
		var refused *ports.RefusedTool
		if errors.As(err, &refused) != (c.want != "") || refused != nil && refused.Name != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want == "" {
			if err != c.err {
				t.Errorf("%s: another error: %v", c.name, err)
			}
			continue
		}
		var inner *wire.ProviderError
		if ports.KindOf(err) != ports.KindInvalid || !errors.As(err, &inner) {
			t.Errorf("%s: kind and cause are lost: %v", c.name, err)
		}
	}
}
