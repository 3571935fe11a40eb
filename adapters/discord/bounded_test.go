package discord

import (
	"strings"
	"testing"
	"time"

	"dragoman/adapters/internal/markdown"
)

func TestRenderIsBoundedInTime(t *testing.T) {
	const limit = 30 * time.Second // half a second at worst when alone; unbounded they take many minutes
	for name, text := range map[string]string{
		"too long":       strings.Repeat("a *b* ", 1<<17),
		"one word":       strings.Repeat("a", 120_000),
		"one paragraph":  strings.Repeat("a\n", 60_000),
		"marks":          strings.Repeat("a\u0301\u0302", 20_000),
		"many items":     strings.Repeat("- a\n", 30_000),
		"many blocks":    strings.Repeat("a\n\n", 40_000),
		"many looks":     strings.Repeat(strings.Repeat("*a* ", 900)+"\n\n", 35),
		"quoted items":   strings.Repeat("> - > - > - a\n", 8_000),
		"wide table":     "|" + strings.Repeat("a|", 99) + "\n|" + strings.Repeat("-|", 99) + "\n" + strings.Repeat("|b|c\n", 190),
		"long rows":      "|a|b|\n|-|-|\n" + strings.Repeat("|x|y|\n", 9_000),
		"long fence":     "```\n" + strings.Repeat(" \n", 60_000) + "```",
		"colons":         strings.Repeat("a://", 30_000),
		"addresses":      strings.Repeat("https://x.org/abcdefghi", 5_000),
		"angles":         strings.Repeat("<a", 60_000),
		"dollars":        strings.Repeat("$a\n", 40_000),
		"double dollars": strings.Repeat("$$a\n", 30_000),
		"parentheses":    strings.Repeat(`\(`, 60_000),
		"open links":     strings.Repeat("[a](", 30_000),
		"open looks":     strings.Repeat("**a `b", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			pages := paginate(markdown.Complete(text), maxMessage)
			if took := time.Since(start); took > limit {
				t.Errorf("took %v", took)
			}
			for _, p := range pages {
				if n := len([]rune(p)); n > maxMessage {
					t.Errorf("a page of %d", n)
				}
			}
		})
	}
}
