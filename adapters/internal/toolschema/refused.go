package toolschema

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// Done finishes what a provider answered to a request with these tools: calls get
// the tool's own name and the names that its own schema has for its arguments, and
// an error that complains about one tool's definition gets a *ports.RefusedTool into
// its chain.
func (t *Tools) Done(tools []ports.ToolSpec, reply ports.ModelReply, err error) (ports.ModelReply, error) {
	for i, call := range reply.Calls {
		name := t.own(tools, call.Name)
		reply.Calls[i].Name, reply.Calls[i].Arguments = name, t.Arguments(tools, name, call.Arguments)
	}
	var (
		failed *ports.Error
		words  *wire.ProviderError
	)
	if !errors.As(err, &failed) || !errors.As(failed.Err, &words) || failed.Kind != ports.KindInvalid && !aboutTheRequest(words.Status) {
		return reply, err
	}
	name, ok := Refused(tools, words.Problem.Param, words.Problem.Message)
	if !ok {
		return reply, err
	}
	refused := *failed
	refused.Kind = ports.KindInvalid // whatever words of the tool's own the kind was told by
	refused.Err = &ports.RefusedTool{Name: name, Err: failed.Err}
	return reply, &refused
}

func aboutTheRequest(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}

// Refused finds the tool of the request whose definition a provider complains
// about, by what it calls the parameter and by its words; false if it names none.
//
// The words may quote anything: a message of a person, the schema of a tool. So
// only their beginning counts, which is the provider's own, up to the first place
// where a stranger's text can stand.
func Refused(tools []ports.ToolSpec, param, message string) (string, bool) {
	message = strings.TrimLeft(message, " *\n")
	if strings.HasPrefix(message, "Missing required parameter") {
		return "", false // what is required we write: it is the form that is wrong
	}
	for _, words := range []string{param, message} {
		for _, pattern := range byIndex {
			if m := pattern.FindStringSubmatch(words); m != nil {
				i, err := strconv.Atoi(m[1])
				if err != nil || i >= len(tools) {
					return "", false
				}
				return tools[i].Name, true
			}
		}
	}
	for _, pattern := range byName {
		if m := pattern.FindStringSubmatch(message); m != nil {
			name := m[1]
			known := slices.ContainsFunc(tools, func(s ports.ToolSpec) bool { return s.Name == name })
			return name, known
		}
	}
	return "", false
}

// definition is where in a tool the fault is: what else there is in it is ours.
const definition = `(?:function\.)?(?:name|description|parameters|input_schema)\b`

// byIndex are the beginnings of complaints that count the tools of the request.
var byIndex = []*regexp.Regexp{
	// OpenAI's param, and others' messages: tools[2].function.parameters
	regexp.MustCompile(`^(?:body\.)?tools\[(\d+)\]\.` + definition),
	// OpenAI: Invalid 'tools[5].function.description': string too long
	regexp.MustCompile(`^Invalid (?:(?:type|value|schema) for )?'tools\[(\d+)\]\.` + definition),
	// Anthropic: tools.3.custom.input_schema: JSON schema is invalid
	regexp.MustCompile(`^(?:\d+ validation errors? for \w+\s+)?(?:body\.)?tools\.(\d+)\.(?:[A-Za-z]+\.)?` + definition),
	// Gemini: GenerateContentRequest.tools[0].function_declarations[3].parameters …
	// or The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations[12].name: [FIELD_INVALID] …
	regexp.MustCompile(`^(?:The GenerateContentRequest proto is invalid:[\s*]+)?(?:GenerateContentRequest\.)?tools\[\d+\]\.(?:function_declarations|functionDeclarations)\[(\d+)\]`),
	// Gemini: Invalid JSON payload received. Unknown name "const" at 'tools[0].function_declarations[3].parameters…
	regexp.MustCompile(`^Invalid (?:JSON payload received\. Unknown name \\?"[^"\\']{0,100}\\?"|value) at '(?:GenerateContentRequest\.)?tools\[\d+\]\.(?:function_declarations|functionDeclarations)\[(\d+)\]`),
	// servers in Rust: Failed to deserialize the JSON body into the target type: tools[3].function …
	regexp.MustCompile(`^Failed to deserialize the JSON body into the target type: tools\[(\d+)\]\.` + definition),
	// pydantic, as vLLM's: [{'type': 'dict_type', 'loc': ('body', 'tools', 3, 'function', 'parameters') …
	regexp.MustCompile(`^\[?\{["']type["']: ?["']\w{1,60}["'], ?["']loc["']: ?[(\[]["']body["'], ?["']tools["'], ?(\d+)[,\])]`),
}

// byName are the beginnings of complaints that name the tool.
var byName = []*regexp.Regexp{
	// OpenAI: Invalid schema for function 'NAME': In context=('properties', 'x'), array schema missing items.
	// Groq: invalid JSON schema for tool NAME, tools[3].function.parameters: …
	regexp.MustCompile(`^[Ii]nvalid (?:JSON )?schema for (?:function|tool) ["'` + "`" + `]?([A-Za-z0-9_.:-]{1,128})["'` + "`" + `]?(?:[:, ]|$)`),
	// Vertex: Unable to submit request because NAME functionDeclaration parameters schema should be of type OBJECT
	regexp.MustCompile("^Unable to submit request because [`']?([A-Za-z0-9_.:-]{1,128})[`']? functionDeclaration"),
}
