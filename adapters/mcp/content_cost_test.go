package mcp

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestAnOddResultCostsLittleMoreThanItsLength: members of the wrong type are looked
// at one by one, which a server must not make dear. What is measured is what was
// allocated: it does not depend on the machine.
func TestAnOddResultCostsLittleMoreThanItsLength(t *testing.T) {
	const size, bar = 4 << 20, 24
	wide := func(head string) string {
		var b strings.Builder
		b.WriteString(head)
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, `,"a%x":1`, i)
		}
		return b.String() + "}"
	}
	for name, content := range map[string]string{
		"a wide block":      `[` + wide(`{"type":5`) + `]`,
		"a wide resource":   `[{"type":"resource","resource":` + wide(`{"uri":5`) + `}]`,
		"one member, often": `[{"type":5` + strings.Repeat(`,"text":7`, size/9) + `}]`,
		"many numbers":      `[1` + strings.Repeat(",1", size/2) + `]`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decodeContent([]byte(content))
		runtime.ReadMemStats(&after)
		if times := (after.TotalAlloc - before.TotalAlloc) / size; times > bar {
			t.Errorf("%s: %d times its length was allocated, want %d at most", name, times, bar)
		}
	}
}
