package desk

import (
	"errors"
	"fmt"
	"math/big"
)

// bounded keeps numbers small enough to work with.
func bounded(x *big.Rat) (*big.Rat, error) {
	if x.Num().BitLen() > maxBits || x.Denom().BitLen() > maxBits {
		return nil, errTooLarge
	}
	return x, nil
}

func apply(op byte, a, b *big.Rat) (*big.Rat, error) {
	x := new(big.Rat)
	switch op {
	case '+':
		return bounded(x.Add(a, b))
	case '-':
		return bounded(x.Sub(a, b))
	case '*':
		return bounded(x.Mul(a, b))
	}
	if b.Sign() == 0 {
		return nil, errors.New("a division by zero")
	}
	x.Quo(a, b)
	if op == '%' { // the remainder has the sign of the divisor
		x.Sub(a, new(big.Rat).Mul(b, floor(x)))
	}
	return bounded(x)
}

// power raises to a whole number, or takes a square root for one half.
func power(base, exponent *big.Rat) (*big.Rat, error) {
	if exponent.Cmp(big.NewRat(1, 2)) == 0 {
		return root(base)
	}
	if !exponent.IsInt() {
		return nil, errors.New("an exponent has to be a whole number, or 0.5")
	}
	if base.Sign() == 0 && exponent.Sign() < 0 {
		return nil, errors.New("a division by zero")
	}
	n := new(big.Int).Abs(exponent.Num())
	trivial := base.IsInt() && base.Num().CmpAbs(big.NewInt(1)) <= 0
	if trivial { // 0, 1 and -1 may be raised to anything
		n.Mod(n, big.NewInt(2))
		if exponent.Sign() != 0 {
			n.Add(n, big.NewInt(2))
		}
	}
	widest := int64(max(base.Num().BitLen(), base.Denom().BitLen()))
	if !trivial && (!n.IsInt64() || n.Int64() > maxBits || (widest-1)*n.Int64() > maxBits) {
		return nil, errTooLarge
	}
	x := new(big.Rat).SetFrac(new(big.Int).Exp(base.Num(), n, nil), new(big.Int).Exp(base.Denom(), n, nil))
	if exponent.Sign() < 0 {
		x.Inv(x)
	}
	return bounded(x)
}

// root is exact for squares, else rounded to precision bits.
func root(x *big.Rat) (*big.Rat, error) {
	if x.Sign() < 0 {
		return nil, errors.New("the square root of a negative number")
	}
	num, denom := new(big.Int).Sqrt(x.Num()), new(big.Int).Sqrt(x.Denom())
	exact := new(big.Rat).SetFrac(num, denom)
	if new(big.Rat).Mul(exact, exact).Cmp(x) == 0 {
		return exact, nil
	}
	f := new(big.Float).SetPrec(precision).SetRat(x)
	value, _ := f.Sqrt(f).Rat(nil)
	return bounded(value)
}

func call(name string, args []*big.Rat) (*big.Rat, error) {
	if name == "min" || name == "max" {
		best := args[0]
		for _, x := range args[1:] {
			if c := x.Cmp(best); c < 0 && name == "min" || c > 0 && name == "max" {
				best = x
			}
		}
		return best, nil
	}
	if len(args) != 1 {
		return nil, fmt.Errorf("%s takes one number", name)
	}
	x := args[0]
	switch name {
	case "sqrt":
		return root(x)
	case "abs":
		return new(big.Rat).Abs(x), nil
	case "floor":
		return floor(x), nil
	case "ceil":
		return negated(floor(negated(x))), nil
	case "round": // halves away from zero
		half := floor(new(big.Rat).Add(new(big.Rat).Abs(x), big.NewRat(1, 2)))
		if x.Sign() < 0 {
			half.Neg(half)
		}
		return half, nil
	}
	return nil, fmt.Errorf("%q is not known; there are sqrt abs floor ceil round min max", name)
}

// floor uses that Euclidean division by a positive number rounds down.
func floor(x *big.Rat) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Div(x.Num(), x.Denom()))
}

func negated(x *big.Rat) *big.Rat { return new(big.Rat).Neg(x) }

// show writes a number whole if it ends soon, else rounded, with a sign that says so.
func show(x *big.Rat) string {
	if n, exact := x.FloatPrec(); exact && n <= exactDigits {
		return x.FloatString(n)
	}
	return "≈ " + new(big.Float).SetPrec(precision).SetRat(x).Text('g', digits)
}
