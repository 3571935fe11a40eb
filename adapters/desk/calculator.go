package desk

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/server"
)

const (
	maxDepth    = 50   // nested parentheses and signs
	maxBits     = 4096 // of a numerator or denominator
	maxExponent = 300  // of a number like 1e6
	precision   = 256  // bits of a root
	digits      = 15   // significant ones shown of what does not end
	exactDigits = 30   // shown after the point of what does
)

func calculator() server.ServerTool {
	return text{
		name: "calculate", title: "Calculator",
		description: "Works out an arithmetic expression, exactly where that is possible.",
		argument:    "expression",
		about:       "Numbers with + - * / % (remainder), ^ or ** (power), parentheses, and sqrt() abs() floor() ceil() round() min() max(), as 1.2*(3+4)^2.",
		repeatable:  true,
		run:         calculate,
	}.tool()
}

func calculate(expression string) (string, error) {
	p := &arithmetic{text: strings.ReplaceAll(strings.NewReplacer("×", "*", "÷", "/", "−", "-").Replace(expression), "**", "^")}
	value, err := p.sum()
	if err == nil {
		p.space()
		if p.at < len(p.text) {
			r, _ := utf8.DecodeRuneInString(p.text[p.at:])
			err = fmt.Errorf("%q is not expected", r)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w (at %q)", err, before(p.text, p.at))
	}
	return show(value), nil
}

var errTooLarge = errors.New("the numbers become too large")

// arithmetic reads and works out an expression in one pass, by recursive descent:
//
//	sum = product { ("+"|"-") product }    product = sign { ("*"|"/"|"%") sign }
//	sign = { "+"|"-" } power               power = operand [ "^" sign ]
type arithmetic struct {
	text  string
	at    int
	depth int
}

func (p *arithmetic) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// accept takes one of the characters if it is next, else gives 0.
func (p *arithmetic) accept(chars string) byte {
	p.space()
	if p.at < len(p.text) && strings.IndexByte(chars, p.text[p.at]) >= 0 {
		p.at++
		return p.text[p.at-1]
	}
	return 0
}

func (p *arithmetic) sum() (*big.Rat, error)     { return p.chain("+-", p.product) }
func (p *arithmetic) product() (*big.Rat, error) { return p.chain("*/%", p.sign) }

func (p *arithmetic) chain(operators string, part func() (*big.Rat, error)) (*big.Rat, error) {
	left, err := part()
	for err == nil {
		op := p.accept(operators)
		if op == 0 {
			return left, nil
		}
		var right *big.Rat
		if right, err = part(); err == nil {
			left, err = apply(op, left, right)
		}
	}
	return nil, err
}

func (p *arithmetic) sign() (*big.Rat, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, fmt.Errorf("the expression is nested more than %d deep", maxDepth)
	}
	switch p.accept("+-") {
	case '+':
		return p.sign()
	case '-':
		value, err := p.sign()
		if err != nil {
			return nil, err
		}
		return value.Neg(value), nil
	}
	base, err := p.operand()
	if err != nil || p.accept("^") == 0 {
		return base, err
	}
	exponent, err := p.sign()
	if err != nil {
		return nil, err
	}
	return power(base, exponent)
}

func (p *arithmetic) operand() (*big.Rat, error) {
	if p.accept("(") != 0 {
		value, err := p.sum()
		if err != nil {
			return nil, err
		}
		if p.accept(")") == 0 {
			return nil, errors.New("a ) is missing")
		}
		return value, nil
	}
	p.space()
	switch rest := p.text[p.at:]; {
	case rest == "":
		return nil, errors.New("the expression ends too early")
	case rest[0] >= 'a' && rest[0] <= 'z' || rest[0] >= 'A' && rest[0] <= 'Z':
		return p.function()
	}
	return p.number()
}

func (p *arithmetic) function() (*big.Rat, error) {
	begin := p.at
	for p.at < len(p.text) && (p.text[p.at]|0x20 >= 'a' && p.text[p.at]|0x20 <= 'z') {
		p.at++
	}
	name := strings.ToLower(p.text[begin:p.at])
	if p.accept("(") == 0 {
		return nil, fmt.Errorf("%q is not known", name)
	}
	var args []*big.Rat
	for {
		value, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, value)
		switch p.accept(",)") {
		case ')':
			return call(name, args)
		case 0:
			return nil, errors.New("a ) is missing")
		}
	}
}

// number reads digits with a point and a bounded exponent.
func (p *arithmetic) number() (*big.Rat, error) {
	begin := p.at
	p.many("0123456789")
	if p.at < len(p.text) && p.text[p.at] == '.' {
		p.at++
		p.many("0123456789")
	}
	mantissa := p.text[begin:p.at]
	if strings.Trim(mantissa, ".") == "" {
		r, _ := utf8.DecodeRuneInString(p.text[begin:])
		return nil, fmt.Errorf("%q is not expected", r)
	}
	if p.at < len(p.text) && p.text[p.at]|0x20 == 'e' {
		p.at++
		sign := p.at
		if p.at < len(p.text) && strings.IndexByte("+-", p.text[p.at]) >= 0 {
			p.at++
		}
		p.many("0123456789")
		var exponent int
		if _, err := fmt.Sscanf(p.text[sign:p.at], "%d", &exponent); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return nil, fmt.Errorf("the exponent of a number is not between -%d and %d", maxExponent, maxExponent)
		}
	}
	value, ok := new(big.Rat).SetString(p.text[begin:p.at])
	if !ok {
		return nil, fmt.Errorf("%q is no number", p.text[begin:p.at])
	}
	return bounded(value)
}

func (p *arithmetic) many(chars string) {
	for p.at < len(p.text) && strings.IndexByte(chars, p.text[p.at]) >= 0 {
		p.at++
	}
}

func before(text string, at int) string {
	return strings.ToValidUTF8(text[max(0, at-20):at], "")
}
