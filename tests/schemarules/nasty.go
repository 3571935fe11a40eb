package schemarules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Nasty are tools with schemas as they should not be: what servers really send,
// what older drafts allowed, and what only an enemy writes. They come sorted by name.
func Nasty() []Tool {
	all := map[string]string{}
	for _, schemas := range []map[string]string{shapes, tops, references, values, names, endless()} {
		maps.Copy(all, schemas)
	}
	var tools []Tool
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tools = append(tools, Tool{Server: "nasty", Name: name, Description: "What " + name + " is.", InputSchema: json.RawMessage(all[name])})
	}
	return tools
}

// shapes are wrong in their form.
var shapes = map[string]string{
	"nothing at all":                  ``,
	"no JSON":                         `{"type":"object","properties":{`,
	"a list":                          `[]`,
	"null":                            `null`,
	"true":                            `true`,
	"no type":                         `{"properties":{"a":{"type":"string"}},"required":["a"]}`,
	"no properties":                   `{"type":"object"}`,
	"an old dialect":                  `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`,
	"a string as root":                `{"type":"string"}`,
	"an object or null":               `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`,
	"properties in a list":            `{"type":"object","properties":[{"name":"a"}]}`,
	"types instead of schemas":        `{"type":"object","properties":{"x":"number","y":"number"},"required":["x","y"]}`,
	"booleans instead of schemas":     `{"type":"object","properties":{"any":true,"none":false,"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`,
	"null instead of a schema":        `{"type":"object","properties":{"a":null,"b":{"type":"string"}}}`,
	"required as in draft 3":          `{"type":"object","properties":{"a":{"type":"string","required":true},"b":{"type":"string","required":false}}}`,
	"required twice and unknown":      `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","a","b",7]}`,
	"required as a text":              `{"type":"object","properties":{"a":{"type":"string"}},"required":"a"}`,
	"a type that is none":             `{"type":"object","properties":{"a":{"type":"any"},"b":{"type":"date"},"c":{"type":["string","file"]},"d":{"type":["string","string"]}}}`,
	"types in capitals":               `{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}`,
	"an array without items":          `{"type":"object","properties":{"a":{"type":"array"},"b":{"type":["array","null"]}}}`,
	"items that are a boolean":        `{"type":"object","properties":{"a":{"type":"array","items":true},"b":{"type":"array","items":false}}}`,
	"a tuple of draft 7":              `{"type":"object","properties":{"point":{"type":"array","items":[{"type":"number"},{"type":"number"}],"additionalItems":false}}}`,
	"a tuple with an open end":        `{"type":"object","properties":{"row":{"type":"array","items":[{"type":"string"},{"type":"integer"}]}}}`,
	"a tuple of 2020-12":              `{"type":"object","properties":{"row":{"type":"array","prefixItems":[{"type":"string"},{"type":"array"}],"items":{"type":"integer"}}}}`,
	"a tuple of nothing":              `{"type":"object","properties":{"row":{"type":"array","items":[],"minItems":1}}}`,
	"properties with keywords' names": `{"type":"object","properties":{"type":{"type":"string"},"properties":{"type":"object"},"$ref":{"type":"string"},"enum":{"type":"array"},"required":{"type":"boolean"},"anyOf":{"type":"string"}},"required":["type","$ref"]}`,
	"keywords that nobody knows":      `{"type":"object","x-order":1,"properties":{"a":{"type":"string","x-ui":{"widget":"file"},"example":"b","nullable":true,"readOnly":"no"}},"strict":true}`,
}

// tops have at the top what belongs further down.
var tops = map[string]string{
	"oneOf at the top":                   `{"type":"object","oneOf":[{"properties":{"id":{"type":"integer"}},"required":["id"]},{"properties":{"name":{"type":"string"}},"required":["name"]}]}`,
	"anyOf at the top, only required":    `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["name"]}],"additionalProperties":false}`,
	"allOf at the top":                   `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
	"a union that is told by a constant": `{"oneOf":[{"type":"object","properties":{"kind":{"const":"file"},"path":{"type":"string"}},"required":["kind","path"],"additionalProperties":false},{"type":"object","properties":{"kind":{"const":"url"},"url":{"type":"string","format":"uri"}},"required":["kind","url"],"additionalProperties":false}]}`,
	"alternatives with limits":           `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"minProperties":2},{"required":["a"]}]}`,
	"enum and not at the top":            `{"type":"object","properties":{"a":{"type":"string"}},"enum":[{"a":"b"}],"not":{"required":["c"]}}`,
	"conditions at the top":              `{"type":"object","properties":{"a":{"type":"string"}},"if":{"properties":{"a":{"const":"x"}}},"then":{"required":["b"]},"else":{"required":["c"]}}`,
	"alternatives in alternatives":       `{"anyOf":[{"oneOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{"type":"integer"}}}]},{"allOf":[{"properties":{"a":{"type":"boolean"}}},{"required":["a"]}]}]}`,
	"alternatives that are no schemas":   `{"type":"object","properties":{"a":{"anyOf":[7,"x",null]},"b":{"oneOf":{}},"c":{"allOf":[]}},"anyOf":[1,2]}`,
	"a condition deep inside":            `{"type":"object","properties":{"o":{"type":"object","properties":{"k":{"type":"string"},"v":{}},"if":{"properties":{"k":{"pattern":"^\\p{Lu}"}}},"then":{"required":["v"]}}}}`,
	"exactly one of what overlaps":       `{"type":"object","properties":{"a":{"oneOf":[{"type":"string","pattern":"^\\p{Lu}"},{"type":"string","pattern":"^\\p{Ll}","description":"A small one."}]}}}`,
	"not what cannot be said":            `{"type":"object","properties":{"a":{"type":"string","not":{"pattern":"^\\p{Lu}"}}}}`,
}

// references lead to where a provider cannot follow.
var references = map[string]string{
	"a reference at the root":          `{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"]},"A":{"type":"string","enum":["x","y"]}}}`,
	"definitions of draft 7":           `{"type":"object","properties":{"a":{"$ref":"#/definitions/A"},"b":{"$ref":"#/definitions/A","description":"Another one."}},"definitions":{"A":{"type":"object","properties":{"n":{"type":"integer"}}}}}`,
	"a tree":                           `{"type":"object","properties":{"root":{"$ref":"#/$defs/Node"}},"required":["root"],"$defs":{"Node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}}},"required":["name"]}}}`,
	"itself":                           `{"type":"object","properties":{"filter":{"type":"string"},"and":{"$ref":"#"}}}`,
	"any JSON value":                   `{"type":"object","properties":{"value":{"$ref":"#/$defs/JSON"}},"$defs":{"JSON":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/JSON"}},{"type":"object","additionalProperties":{"$ref":"#/$defs/JSON"}}]}}}`,
	"references in a circle":           `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"allOf":[{"$ref":"#/$defs/A"}]}}}`,
	"a reference to a file":            `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"},"b":{"type":"string"}}}`,
	"a reference abroad":               `{"$ref":"https://example.org/schema.json","type":"object","properties":{"a":{"$ref":"other.json#/x","description":"d"}}}`,
	"a reference to nowhere":           `{"type":"object","properties":{"a":{"$ref":"#/$defs/None"},"b":{"$ref":7},"c":{"$ref":"#/properties/c/x/y"}}}`,
	"a reference into the properties":  `{"type":"object","properties":{"from":{"type":"object","properties":{"lat":{"type":"number"},"lon":{"type":"number"}},"required":["lat","lon"]},"to":{"$ref":"#/properties/from"}}}`,
	"a reference into an alternative":  `{"type":"object","anyOf":[{"properties":{"a":{"type":"integer"}}}],"properties":{"b":{"$ref":"#/anyOf/0/properties/a"}}}`,
	"a reference with escapes":         `{"type":"object","properties":{"a":{"$ref":"#/$defs/My%20Type~1v1"}},"$defs":{"My Type/v1":{"type":"string"}}}`,
	"anchors and ids":                  `{"$id":"https://example.org/x","type":"object","properties":{"a":{"$ref":"#here"},"b":{"$dynamicRef":"#here"},"c":{"$id":"y","$anchor":"z","type":"string"}},"$defs":{"H":{"$anchor":"here","type":"string"}}}`,
	"a reference with its own demands": `{"type":"object","properties":{"a":{"$ref":"#/$defs/S","minLength":2}},"$defs":{"S":{"type":"string","maxLength":9}}}`,
	"definitions that are none":        `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/B"}},"$defs":{"A":true,"B":"string"}}`,
}

// values have limits and values that not everybody reads.
var values = map[string]string{
	"exclusive bounds of draft 4":     `{"type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":10,"exclusiveMaximum":false}}}`,
	"exclusive bounds of today":       `{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0},"x":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}}}`,
	"limits that are no numbers":      `{"type":"object","properties":{"a":{"type":"string","minLength":"1","maxLength":-5},"b":{"type":"number","minimum":"0","multipleOf":0},"c":{"type":"array","items":{},"maxItems":2.5}}}`,
	"numbers beyond every number":     `{"type":"object","properties":{"a":{"type":"number","maximum":1e999,"default":1e999,"enum":[1e999,1]}}}`,
	"an integer beyond a float":       `{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740993,"default":9007199254740993}}}`,
	"an enum of integers":             `{"type":"object","properties":{"level":{"type":"integer","enum":[1,2,3]}},"required":["level"]}`,
	"an enum of everything":           `{"type":"object","properties":{"v":{"enum":["auto",1,1.5,true,null,[1],{"a":1}]}}}`,
	"an enum with an empty text":      `{"type":"object","properties":{"sort":{"type":"string","enum":["","asc","desc"]}}}`,
	"an enum of nothing":              `{"type":"object","properties":{"a":{"type":"string","enum":[]},"b":{"type":"string","enum":"x"}}}`,
	"an enum that says things twice":  `{"type":"object","properties":{"a":{"type":"string","enum":["x","x","y"]}}}`,
	"a text or null":                  `{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x",null]},"b":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"title":"B"}}}`,
	"several types":                   `{"type":"object","properties":{"id":{"type":["string","integer"],"minLength":1,"minimum":1},"only":{"type":"null"}}}`,
	"constants":                       `{"type":"object","properties":{"v":{"const":"v1"},"n":{"const":1},"z":{"const":null}},"required":["v"]}`,
	"patterns that not all can read":  `{"type":"object","properties":{"a":{"type":"string","pattern":"^(?!\\s)"},"b":{"type":"string","pattern":"\\p{L}+"},"c":{"type":"string","pattern":"["},"d":{"type":"string","pattern":"^[a-z]+$"},"e":{"type":"string","pattern":7}}}`,
	"keys by pattern":                 `{"type":"object","properties":{"env":{"type":"object","patternProperties":{"^[A-Z]+$":{"type":"string"},"(?<x>y)":{"type":"integer"}},"additionalProperties":false},"map":{"type":"object","additionalProperties":{"type":"number"},"propertyNames":{"pattern":"^[a-z]+$"}}}}`,
	"formats that nobody knows":       `{"type":"object","properties":{"a":{"type":"string","format":"uri"},"b":{"type":"string","format":"date-time"},"c":{"type":"integer","format":"uint64"},"d":{"type":"string","format":"enum"}}}`,
	"what depends on what":            `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["b"],"x":["a"]},"dependencies":{"a":["b"]},"dependentSchemas":{"b":{"required":["a"]}}}`,
	"what contains what":              `{"type":"object","properties":{"a":{"type":"array","contains":{"type":"string","pattern":"^(?=x)"},"minContains":1,"maxContains":1},"b":{"type":"array","items":{},"uniqueItems":"yes"}},"unevaluatedProperties":false}`,
	"descriptions that are no texts":  `{"type":"object","description":{"en":"x"},"properties":{"a":{"type":"string","description":["a"],"title":7,"default":"x","examples":"none"}}}`,
	"everything allowed":              `{"type":"object","properties":{"value":{},"list":{"type":"array","items":{}}},"additionalProperties":true}`,
	"alternatives beside their shape": `{"type":"object","properties":{"o":{"type":"object","description":"Either.","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]},"s":{"type":"string","anyOf":[{"enum":["x"]},{"minLength":3}]}}}`,
	"parts that belong together":      `{"type":"object","properties":{"o":{"allOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"integer"}},"required":["a","b"]}]}}}`,
}

// names are of properties.
var names = map[string]string{
	"a dollar in a name":               `{"type":"object","properties":{"$filter":{"type":"string","description":"OData."},"$top":{"type":"integer"}},"required":["$filter"],"additionalProperties":false}`,
	"names from the whole world":       `{"type":"object","properties":{"größe":{"type":"number"},"名前":{"type":"string"},"with space":{"type":"string"},"a/b~c":{"type":"string"},"":{"type":"string"}},"required":["größe","名前"]}`,
	"a very long name":                 `{"type":"object","properties":{"` + strings.Repeat("n", 200) + `":{"type":"string"}},"required":["` + strings.Repeat("n", 200) + `"]}`,
	"bad names deep inside":            `{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"@type":{"type":"string"},"@id":{"type":"string"}},"required":["@type"],"dependentRequired":{"@id":["@type"]}}}}}`,
	"two names that become alike":      `{"type":"object","properties":{"a b":{"type":"string"},"a_b":{"type":"integer"},"a?b":{"type":"boolean"}},"required":["a b","a_b","a?b"]}`,
	"a name that another may be given": `{"type":"object","properties":{"a b":{"type":"string"},"a_b_c8687a08":{"type":"integer"}}}`,
}

// endless are larger than they look, or larger than anything should be.
func endless() map[string]string {
	var doubling strings.Builder
	for i := range 30 {
		fmt.Fprintf(&doubling, `"d%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/d%d"},"r":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	var many, wide, union []string
	for i := range 3000 {
		many = append(many, fmt.Sprintf(`"property_%d":{"type":"string","description":"The %dth of very many properties, with words about it that nobody will read."}`, i, i))
		wide = append(wide, fmt.Sprintf(`"value number %d"`, i))
	}
	for i := range 500 {
		union = append(union, fmt.Sprintf(`{"properties":{"k":{"const":"k%d"},"p%d":{"type":"string"}},"required":["k"]}`, i, i))
	}
	return map[string]string{
		"a thousand floors":         strings.Repeat(`{"type":"object","properties":{"a":`, 1000) + `{}` + strings.Repeat(`}}`, 1000),
		"lists in lists in lists":   `{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 300) + `{"type":"string"}` + strings.Repeat(`}`, 300) + `}}`,
		"doubling at every floor":   `{"$defs":{` + doubling.String() + `"d30":{"type":"string"}},"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}}}`,
		"a bomb at the top":         `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`,
		"three thousand properties": `{"type":"object","properties":{` + strings.Join(many, ",") + `}}`,
		"three thousand values":     `{"type":"object","properties":{"a":{"type":"string","enum":[` + strings.Join(wide, ",") + `]}}}`,
		"five hundred alternatives": `{"type":"object","oneOf":[` + strings.Join(union, ",") + `]}`,
		"a novel as description":    `{"type":"object","properties":{"a":{"type":"string","description":"` + strings.Repeat("It was a dark and stormy night. ", 10_000) + `"}}}`,
		"a default of many floors":  `{"type":"object","properties":{"a":{"default":` + strings.Repeat(`[`, 2000) + strings.Repeat(`]`, 2000) + `}}}`,
		"two megabytes":             `{"type":"object","properties":{"` + strings.Repeat("x", 2<<20) + `":{}}}`,
	}
}
