package gateway_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the pictures in testdata anew")

// draw writes a picture of the prompts' sizes to testdata, if the test was asked to.
func draw(t *testing.T, name string, sizes []int, window int) {
	t.Helper()
	if !*update {
		return
	}
	const (
		width, height = 800, 260
		left, top     = 60, 30
	)
	x := func(turn int) int { return left + turn*width/len(sizes) }
	y := func(tokens int) int { return top + height - tokens*height/window }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", left+width+20, top+height+50)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	fmt.Fprintf(&b, `<text x="%d" y="18">Tokens of the largest prompt of each turn, as the model counts them (window: %d)</text>`+"\n", left, window)
	for tokens := 0; tokens <= window; tokens += window / 4 {
		fmt.Fprintf(&b, `<path d="M%d %dH%d" stroke="#ddd"/><text x="%d" y="%d" text-anchor="end">%d</text>`+"\n", left, y(tokens), left+width, left-6, y(tokens)+4, tokens)
	}
	for turn := 0; turn <= len(sizes); turn += len(sizes) / 4 {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%d</text>`+"\n", x(turn), top+height+18, turn)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">turn</text>`+"\n", left+width/2, top+height+38)
	b.WriteString(`<polyline fill="none" stroke="#26c" stroke-width="0.6" points="`)
	for i, n := range sizes {
		fmt.Fprintf(&b, "%.1f,%d ", left+float64(i)*width/float64(len(sizes)), y(n))
	}
	b.WriteString("\"/>\n</svg>\n")
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", name), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
