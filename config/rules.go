package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/go-playground/validator/v10"
)

func newRules() *validator.Validate {
	rules := validator.New(validator.WithRequiredStructEnabled())
	rules.RegisterTagNameFunc(ruleName)
	return rules
}

// validate checks the validate tags of a decoded struct, and turns what they
// find into faults at the keys. A field that has a fault already gets no second one.
func (d *decoder) validate(v reflect.Value, root *node) {
	var broken validator.ValidationErrors
	if err := d.doc.rules.Struct(v.Interface()); !errors.As(err, &broken) {
		return
	}
	for _, rule := range broken {
		if d.hasFault(rule.Namespace()) {
			continue
		}
		at, ok := d.places[rule.Namespace()]
		if !ok {
			at = place{at: root.at, path: join(root.path, rule.Field())}
		}
		d.faults = append(d.faults, d.doc.fault(at.at, at.path, "%s (%s)", finding(rule, at.node), rightFor(rule)))
	}
}

// hasFault reports whether a field, or what it is a part of, has a fault already.
func (d *decoder) hasFault(rule string) bool {
	for end := len(rule); end > 0; end = strings.LastIndexAny(rule[:end], ".[") {
		if d.failed[rule[:end]] {
			return true
		}
	}
	return false
}

// finding says what is wrong with a value that broke a rule. Only values that
// are one of a few words, or numbers, are shown: others may hold secrets.
func finding(rule validator.FieldError, n *node) string {
	v := reflect.ValueOf(rule.Value())
	isWord := rule.Tag() == "oneof" || rule.Tag() == "eq" || rule.Tag() == "oneofci"
	switch {
	case strings.HasPrefix(rule.Tag(), "excluded"):
		return "is given"
	case n == nil:
		return "is missing"
	case n.kind == isText && n.literal == "":
		return emptyText(n)
	case len(n.refs) > 0:
		return shown(n)
	case n.kind == isObject && len(n.members) == 0, n.kind == isList && len(n.items) == 0:
		return "is empty"
	case n.kind == isNull:
		return "is null"
	case n.kind == isNumber, n.kind == isBool, v.IsValid() && v.Type() == durationType:
		return shown(n)
	case isWord && n.kind == isText && !hides(v):
		return shown(n)
	default:
		return "is not right"
	}
}

// rightFor says what a rule wants.
func rightFor(rule validator.FieldError) string {
	param := rule.Param()
	switch tag := rule.Tag(); tag {
	case "required":
		return "must be " + typeWords(rule.Type())
	case "oneof", "oneofci":
		return oneOf(strings.Fields(param))
	case "eq":
		return "must be " + param
	case "ne":
		return "must not be " + param
	case "min", "gte":
		return amount(rule, "at least", param)
	case "max", "lte":
		return amount(rule, "at most", param)
	case "gt":
		return amount(rule, "more than", param)
	case "lt":
		return amount(rule, "less than", param)
	case "len":
		return amount(rule, "exactly", param)
	case "required_if", "required_with", "required_without", "excluded_if", "excluded_with", "excluded_without":
		return conditional(tag, param)
	default:
		if words, ok := formats(tag, param); ok {
			return "must be " + words
		}
		return strings.TrimSuffix("must satisfy "+tag+"="+param, "=")
	}
}

// formats says what a rule about a text's form wants.
func formats(tag, param string) (words string, ok bool) {
	words, ok = map[string]string{
		"url":           `an address like "https://example.org/path"`,
		"uri":           `an address like "https://example.org/path"`,
		"http_url":      `an address like "https://example.org/path"`,
		"https_url":     `an address like "https://example.org/path"`,
		"hostname":      `a host name like "example.org"`,
		"fqdn":          `a host name like "example.org"`,
		"hostname_port": `a host and port like "127.0.0.1:7420"`,
		"ip":            "an IP address",
		"cidr":          `a network like "10.0.0.0/8"`,
		"email":         "an e-mail address",
		"file":          "a file that exists",
		"dir":           "a folder that exists",
		"json":          "JSON",
		"uuid":          "a UUID",
		"alphanum":      "letters and digits",
		"numeric":       "digits",
		"printascii":    "printable ASCII characters",
		"unique":        "a list without doubles",
		"startswith":    "text that begins with " + param,
		"endswith":      "text that ends with " + param,
		"contains":      "text that contains " + param,
		"excludes":      "text without " + param,
		"excludesall":   "text without any of " + param,
	}[tag]
	return words, ok
}

// amount words a limit: of a number's or duration's value, a text's length, a list's size.
func amount(rule validator.FieldError, limit, param string) string {
	switch t := rule.Type(); {
	case t == durationType:
		return "must be " + limit + " " + quotedDuration(param)
	case rule.Kind() == reflect.String:
		return fmt.Sprintf("must have %s %s characters", limit, param)
	case rule.Kind() == reflect.Slice, rule.Kind() == reflect.Map:
		return fmt.Sprintf("must have %s %s entries", limit, param)
	default:
		return "must be " + limit + " " + param
	}
}

func quotedDuration(param string) string {
	if param == "0" {
		param = "0s"
	}
	return `"` + param + `"`
}

// conditional words a rule that looks at another field, whose Go name stands in param.
func conditional(tag, param string) string {
	verb, condition, _ := strings.Cut(tag, "_")
	words := map[string]string{"required": "must be given", "excluded": "must be left out"}[verb]
	others := strings.Fields(param)
	switch {
	case condition == "if" && len(others) == 2:
		return fmt.Sprintf("%s when %s is %s", words, keyOf(others[0]), others[1])
	case condition == "without":
		return fmt.Sprintf("%s when %s is not", words, keyOf(param))
	default:
		return fmt.Sprintf("%s when %s is given", words, keyOf(param))
	}
}

// keyOf is a Go name as a key: APIKey is api_key.
func keyOf(name string) string {
	var key strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		startsWord := i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if startsWord {
			key.WriteByte('_')
		}
		key.WriteRune(unicode.ToLower(r))
	}
	return key.String()
}
