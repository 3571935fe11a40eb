package terminal

import (
	"bufio"
	"io"
	"strings"
	"unicode"
)

// key is something typed: a key that means something, or text.
type key struct {
	name keyName
	text string // of keyText and keyPaste
}

type keyName int

const (
	keyText keyName = iota
	keyPaste
	keyEnter
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyKillWord
	keyKillBefore
	keyKillAfter
	keyInterrupt
	keyLeave
	keyRedraw
	keyNone
)

// controls are the keys of single bytes, as in a shell.
var controls = map[rune]keyName{
	0x01: keyHome, 0x02: keyLeft, 0x03: keyInterrupt, 0x04: keyLeave, 0x05: keyEnd, 0x06: keyRight, 0x08: keyBackspace,
	'\n': keyEnter, 0x0B: keyKillAfter, 0x0C: keyRedraw, '\r': keyEnter, 0x0E: keyDown, 0x10: keyUp, 0x15: keyKillBefore,
	0x17: keyKillWord, 0x7F: keyBackspace,
}

// sequences are the keys behind "ESC [" or "ESC O" (ECMA-48; xterm's control sequences).
var sequences = map[string]keyName{
	"A": keyUp, "B": keyDown, "C": keyRight, "D": keyLeft, "H": keyHome, "F": keyEnd,
	"1~": keyHome, "7~": keyHome, "4~": keyEnd, "8~": keyEnd, "3~": keyDelete, pasteBegins: keyPaste,
}

const (
	pasteBegins = "200~"
	pasteEnds   = "\x1b[201~"
	escape      = 0x1B
	// sequenceLimit ends a sequence that has no end.
	sequenceLimit = 32
)

// readKey reads what was typed next. What means nothing to us is keyNone.
func readKey(r *bufio.Reader) (key, error) {
	c, size, err := r.ReadRune()
	if err != nil {
		return key{name: keyNone}, err
	}
	switch name, known := controls[c]; {
	case known:
		return key{name: name}, nil
	case c == escape:
		return readSequence(r)
	case c == '\t':
		return key{name: keyText, text: tabStop}, nil
	case c == unicode.ReplacementChar && size == 1, unicode.IsControl(c):
		return key{name: keyNone}, nil
	}
	return key{name: keyText, text: string(c)}, nil
}

// readSequence reads what follows an escape.
func readSequence(r *bufio.Reader) (key, error) {
	c, err := r.ReadByte()
	if err != nil || c != '[' && c != 'O' {
		return key{name: keyNone}, err
	}
	var b strings.Builder
	for b.Len() < sequenceLimit {
		if c, err = r.ReadByte(); err != nil {
			return key{name: keyNone}, err
		}
		b.WriteByte(c)
		if c >= 0x40 && c <= 0x7E { // ECMA-48, 5.4: the final byte
			break
		}
	}
	switch name, known := sequences[b.String()]; {
	case !known:
		return key{name: keyNone}, nil
	case name == keyPaste:
		text, err := readPaste(r)
		return key{name: keyPaste, text: text}, err
	default:
		return key{name: name}, nil
	}
}

// readPaste reads what is pasted. What is beyond a message's limit is read and forgotten.
func readPaste(r *bufio.Reader) (string, error) {
	var b []byte
	for !strings.HasSuffix(string(b[max(0, len(b)-len(pasteEnds)):]), pasteEnds) {
		c, err := r.ReadByte()
		if err != nil {
			return "", err
		}
		if b = append(b, c); len(b) > lineLimit+len(pasteEnds) {
			b = append(b[:lineLimit], b[len(b)-len(pasteEnds):]...)
		}
	}
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(b[:len(b)-len(pasteEnds)]))
	return Printable(text), nil
}

// readKeys gives what is typed until in ends, and closes keys.
func readKeys(in io.Reader, keys chan<- key) {
	defer close(keys)
	for r := bufio.NewReader(in); ; {
		k, err := readKey(r)
		if err != nil {
			return
		}
		keys <- k
	}
}
