package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/tailscale/hujson"
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// mustBe is what would have been right. It never quotes what was given.
type mustBe string

func (m mustBe) Error() string { return "must be " + string(m) }

// isScalar reports whether a type is written as one word: text, number, true or false.
func isScalar(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		return false
	}
	if reflect.PointerTo(t).Implements(textType) {
		return true
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64:
		return true
	default:
		return isInt(t) || isUint(t)
	}
}

func isInt(t reflect.Type) bool  { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64 }
func isUint(t reflect.Type) bool { return t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 }

// wantedKind is the kind of JSON that a type is written as; 0 for types that have none.
func wantedKind(t reflect.Type) hujson.Kind {
	switch {
	case t == durationType, reflect.PointerTo(t).Implements(textType), t.Kind() == reflect.String:
		return isText
	case t.Kind() == reflect.Bool:
		return isBool
	case isScalar(t):
		return isNumber
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return isObject
	case t.Kind() == reflect.Slice:
		return isList
	default:
		return 0
	}
}

// setText sets a scalar from its text.
func setText(v reflect.Value, text string) error {
	t := v.Type()
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch {
	case t == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return mustBe(`a duration like "15s"`)
		}
		v.SetInt(int64(d))
	case t.Kind() == reflect.String:
		v.SetString(text)
	case t.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return mustBe("true or false")
		}
		v.SetBool(text == "true")
	case isInt(t):
		n, err := strconv.ParseInt(text, 10, t.Bits())
		if err != nil {
			return mustBe(wholeNumber(t))
		}
		v.SetInt(n)
	case isUint(t):
		n, err := strconv.ParseUint(text, 10, t.Bits())
		if err != nil {
			return mustBe(wholeNumber(t))
		}
		v.SetUint(n)
	default:
		n, err := strconv.ParseFloat(text, t.Bits())
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return mustBe("a number, not too large")
		}
		v.SetFloat(n)
	}
	return nil
}

// wholeNumber words what an integer type can hold.
func wholeNumber(t reflect.Type) string {
	switch bits := t.Bits(); {
	case bits == 64 && isInt(t):
		return "a whole number, not too large"
	case bits == 64:
		return "a whole number from 0 on, not too large"
	case isInt(t):
		return fmt.Sprintf("a whole number between %d and %d", -1<<(bits-1), 1<<(bits-1)-1)
	default:
		return fmt.Sprintf("a whole number between 0 and %d", 1<<bits-1)
	}
}

// requirement is an error of setText, in words. A foreign one may quote its
// text, so it is not shown where that came from a variable.
func requirement(err error, n *node) string {
	var own mustBe
	if len(n.refs) > 0 && !errors.As(err, &own) {
		return "must be valid for this key"
	}
	return err.Error()
}
