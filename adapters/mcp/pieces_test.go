package mcp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// What was written is what comes out, however it was cut, and nothing of an
// earlier message is in the next one.
func TestPiecesAreWhatWasWritten(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var p pieces
	for _, size := range []int{0, 1, keepBuffer - 1, keepBuffer, keepBuffer + 1, 10, 3*keepBuffer + 5, 0, 7} {
		for _, most := range []int{2, 32 << 10, keepBuffer, 2*keepBuffer + 3} {
			t.Run(fmt.Sprintf("%d bytes, at most %d at once", size, most), func(t *testing.T) {
				p.reset()
				want := make([]byte, size)
				for i := range want {
					want[i] = byte(random.Uint32())
				}
				for rest := want; len(rest) > 0; {
					n := min(len(rest), 1+random.IntN(most))
					if wrote, err := p.Write(rest[:n]); wrote != n || err != nil {
						t.Fatalf("Write: %d, %v", wrote, err)
					}
					rest = rest[n:]
				}
				var seen []byte
				p.each(func(b []byte) { seen = append(seen, b...) })
				if !bytes.Equal(seen, want) || p.size != size {
					t.Errorf("each shows other bytes, or size %d is not %d", p.size, size)
				}
				for range 2 {
					if !bytes.Equal(p.joined(), want) {
						t.Error("joined are other bytes")
					}
				}
			})
		}
	}
}

// A message of which only the limit is known takes what it holds: no piece is
// ever copied into a larger one, and little is kept for the next message.
func TestPiecesTakeWhatTheyHold(t *testing.T) {
	const size = 16<<20 + 1
	part := make([]byte, 32<<10)
	var p pieces
	for p.size < size {
		p.Write(part)
	}
	room, copied := cap(p.last), 0
	for i, b := range p.full {
		room += cap(b)
		if i > 0 && cap(b) != keepBuffer {
			copied++
		}
	}
	if room > size+2*keepBuffer || copied > 0 {
		t.Errorf("%d bytes for a message of %d, %d pieces were copied", room, size, copied)
	}
	if p.reset(); cap(p.last) > keepBuffer {
		t.Errorf("%d bytes are kept", cap(p.last))
	}
}
