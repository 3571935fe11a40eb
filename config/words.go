package config

import (
	"fmt"
	"reflect"
	"strconv"
)

const maxShown = 60 // characters of a value in a fault

// wrongType says that a node is not what the key wants.
func (d *decoder) wrongType(n *node, t reflect.Type) Fault {
	return d.doc.fault(n.at, n.path, "is %s (must be %s)", kindWords(n), typeWords(t))
}

func kindWords(n *node) string {
	switch n.kind {
	case isNull:
		return "null"
	case isBool:
		return n.literal
	case isText:
		return "text"
	case isNumber:
		return "a number"
	case isObject:
		return "an object"
	default:
		return "a list"
	}
}

// typeWords says what a type is written as.
func typeWords(t reflect.Type) string {
	if t == nil {
		return "given"
	}
	if t.Kind() == reflect.Pointer {
		return typeWords(t.Elem())
	}
	if t == durationType {
		return `text like "15s"`
	}
	switch wantedKind(t) {
	case isText:
		return "text"
	case isBool:
		return "true or false"
	case isNumber:
		if isInt(t) || isUint(t) {
			return "a whole number"
		}
		return "a number"
	case isObject:
		return "an object in { }"
	case isList:
		if t.Elem().Kind() == reflect.String {
			return `a list like ["a", "b"]`
		}
		return "a list in [ ]"
	default:
		return "given"
	}
}

// shown says what a node's value is, unless it came from a variable or a file.
func shown(n *node) string {
	if len(n.refs) > 0 {
		return "is the value of " + n.refs[0]
	}
	value := n.literal
	if start := []rune(value); len(start) > maxShown {
		value = string(start[:maxShown]) + "…"
	}
	if n.kind == isText {
		value = strconv.Quote(value)
	}
	return "is " + value
}

func emptyText(n *node) string {
	if len(n.refs) > 0 {
		return "is empty, like the value of " + n.refs[0]
	}
	return "is empty"
}

// hides reports whether a type keeps its value out of prints, as secrets do.
func hides(v reflect.Value) bool {
	return v.Kind() == reflect.String && v.CanInterface() && fmt.Sprint(v.Interface()) != v.String()
}
