package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"dragoman/ports"
)

// marked is a schema whose one property has the annotation.
func marked(kind, header string) string {
	return `{"type":"object","properties":{"p":{"type":` + kind + `,"x-mcp-header":` + header + `}}}`
}

func TestParamHeadersOfACall(t *testing.T) {
	const plain = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"},
		"dry":{"type":"boolean","x-mcp-header":"Dry"},"query":{"type":"string"},"at":{"type":"object","properties":{"zone":{"type":["string","null"],"x-mcp-header":"Zone"}}}}}`
	for name, test := range map[string]struct {
		schema, args string
		want         map[string]string
	}{
		"all":            {plain, `{"region":"us-west1","count":42,"dry":false,"query":"q","at":{"zone":"a"}}`, map[string]string{"Region": "us-west1", "Count": "42", "Dry": "false", "Zone": "a"}},
		"absent or null": {plain, `{"region":null,"at":{"zone":null}}`, nil},
		"no such path":   {plain, `{"at":"home","dry":true}`, map[string]string{"Dry": "true"}},
		"a whole number": {plain, `{"count":-7.0}`, map[string]string{"Count": "-7"}},
		"an exponent":    {plain, `{"count":1e3}`, map[string]string{"Count": "1000"}},
		"the largest":    {plain, `{"count":9007199254740991}`, map[string]string{"Count": "9007199254740991"}},
		"the smallest":   {plain, `{"count":-9007199254740991}`, map[string]string{"Count": "-9007199254740991"}},
		"empty":          {plain, `{"region":""}`, map[string]string{"Region": ""}},
		"inner spaces":   {plain, `{"region":"us west 1"}`, map[string]string{"Region": "us west 1"}},
		"no ASCII":       {plain, `{"region":"Hello, 世界"}`, map[string]string{"Region": "=?base64?SGVsbG8sIOS4lueVjA==?="}},
		"outer spaces":   {plain, `{"region":" padded "}`, map[string]string{"Region": "=?base64?IHBhZGRlZCA=?="}},
		"a line break":   {plain, `{"region":"line1\nline2"}`, map[string]string{"Region": "=?base64?bGluZTEKbGluZTI=?="}},
		"a tab":          {plain, `{"region":"a\tb"}`, map[string]string{"Region": "=?base64?YQli?="}},
		"delete":         {plain, `{"region":"a\u007fb"}`, map[string]string{"Region": "=?base64?YX9i?="}},
		"encoded":        {plain, `{"region":"=?base64?literal?="}`, map[string]string{"Region": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}},
		"half encoded":   {plain, `{"region":"=?base64?literal"}`, map[string]string{"Region": "=?base64?literal"}},
		"escaped mark":   {`{"properties":{"p":{"type":"string","x-mcp-he\u0061der":"P"}}}`, `{"p":"v"}`, map[string]string{"P": "v"}},
		"no mark":        {`{"type":"object"}`, `{"p":"v"}`, nil},
		"a name, no mark": {`{"properties":{"x-mcp-header":{"type":"string"}},"default":{"x-mcp-header":7},"examples":[{"x-mcp-header":""}],"const":{"x-mcp-header":{}},"enum":[{"x-mcp-header":1}]}`,
			`{"x-mcp-header":"v"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkParamHeaders(json.RawMessage(test.schema)); err != nil {
				t.Fatal(err)
			}
			got, err := paramHeaders(json.RawMessage(test.schema), json.RawMessage(test.args))
			want := http.Header{}
			for name, value := range test.want {
				want.Set("Mcp-Param-"+name, value)
			}
			if err != nil || !maps.EqualFunc(got, want, func(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
				t.Errorf("the headers are %v, %v, want %v", got, err, want)
			}
		})
	}
}

// TestArgumentsThatNoHeaderCanCarry: the call is refused before it is sent, for
// its server would refuse it without the header.
func TestArgumentsThatNoHeaderCanCarry(t *testing.T) {
	for _, args := range []string{`{"p":9007199254740992}`, `{"p":-9007199254740992}`, `{"p":1.5}`, `{"p":1e300}`, `{"p":{}}`, `{"p":["a"]}`} {
		_, err := paramHeaders(json.RawMessage(marked(`"integer"`, `"P"`)), json.RawMessage(args))
		if !ports.IsKind(err, ports.KindInvalid) || !strings.Contains(err.Error(), "argument p cannot go into the header Mcp-Param-P") {
			t.Errorf("%s gives %v", args, err)
		}
	}
}

func TestSchemasWithWrongParamHeaders(t *testing.T) {
	const mark = `{"type":"string","x-mcp-header":"P"}`
	for schema, says := range map[string]string{
		marked(`"string"`, `""`):                             "is not the name of a header",
		marked(`"string"`, `7`):                              "is not the name of a header",
		marked(`"string"`, `null`):                           "is not the name of a header",
		marked(`"string"`, `"My Region"`):                    "cannot be the name",
		marked(`"string"`, `"Region:Primary"`):               "cannot be the name",
		marked(`"string"`, `"Région"`):                       "cannot be the name",
		marked(`"string"`, `"Region\t1"`):                    "cannot be the name",
		marked(`"string"`, `"a\r\nX-Evil: 1"`):               "cannot be the name",
		marked(`"object"`, `"P"`):                            "for a string, an integer or a boolean alone",
		marked(`"array"`, `"P"`):                             "for a string",
		marked(`"null"`, `"P"`):                              "for a string",
		marked(`"number"`, `"P"`):                            "for a string",
		marked(`["string","number"]`, `"P"`):                 "for a string",
		`{"properties":{"p":{"x-mcp-header":"P"}}}`:          "for a string",
		`{"properties":{"a":` + mark + `,"b":` + mark + `}}`: "is there twice",
		`{"properties":{"a":{"type":"string","x-mcp-header":"MyField"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"myfield"}}}}}`: "is there twice",
		`{"type":"string","x-mcp-header":"P"}`:                                 "where no call has an argument",
		`{"properties":{"l":{"type":"array","items":` + mark + `}}}`:           "where no call has an argument",
		`{"properties":{"l":{"items":{"properties":{"p":` + mark + `}}}}}`:     "where no call has an argument",
		`{"properties":{"l":{"prefixItems":[{},` + mark + `]}}}`:               "where no call has an argument",
		`{"anyOf":[{"properties":{"p":` + mark + `}}]}`:                        "where no call has an argument",
		`{"oneOf":[` + mark + `]}`:                                             "where no call has an argument",
		`{"allOf":[{"not":` + mark + `}]}`:                                     "where no call has an argument",
		`{"if":{"properties":{"p":` + mark + `}}}`:                             "where no call has an argument",
		`{"then":` + mark + `}`:                                                "where no call has an argument",
		`{"$defs":{"d":` + mark + `},"properties":{"p":{"$ref":"#/$defs/d"}}}`: "where no call has an argument",
		`{"patternProperties":{"^p":` + mark + `}}`:                            "where no call has an argument",
		`{"additionalProperties":` + mark + `}`:                                "where no call has an argument",
		`{"dependentSchemas":{"a":{"properties":{"p":` + mark + `}}}}`:         "where no call has an argument",
		`{"properties":{"a":{"x-mcp-he\u0061der":"P","type":"object"}}}`:       "for a string",
	} {
		err := checkParamHeaders(json.RawMessage(schema))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s gives %v, want %q", schema, err, says)
		}
	}
}
