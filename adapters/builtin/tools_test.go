package builtin_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"dragoman/ports"
)

func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the bubble's clock starts at 2000-01-01 00:00 UTC
		result, err := call(t, nil, "time", "")
		if err != nil {
			t.Fatal(err)
		}
		text := result.Content[0].Text
		if !strings.HasPrefix(text, "UTC: Saturday, 2000-01-01T00:00:00Z\nHere (") {
			t.Errorf("the time is told as %q", text)
		}
	})
}

func TestArtifactReadsOn(t *testing.T) {
	kept := shelf{}
	whole := strings.Repeat("Grüße, 世界! 🎲 ", 3000)
	keep(t, kept, here, "long", []byte(whole))
	next := regexp.MustCompile(`^\[long\.txt, bytes (\d+) to (\d+) of \d+\. (?:Go on with offset (\d+)\.|This is the end\.)\]\n`)
	var got strings.Builder
	for offset, reads := 0, 0; ; reads++ {
		result, err := call(t, kept, "read_artifact", fmt.Sprintf(`{"id":"long","offset":%d,"limit":1001}`, offset))
		if err != nil || result.IsError || reads > 200 {
			t.Fatalf("read %d: %v, %v", reads, result.Content, err)
		}
		text := result.Content[0].Text
		head := next.FindStringSubmatch(text)
		if head == nil {
			t.Fatalf("read %d begins with %.80q", reads, text)
		}
		got.WriteString(text[len(head[0]):])
		if head[3] == "" {
			break
		}
		if offset, err = strconv.Atoi(head[3]); err != nil {
			t.Fatal(err)
		}
	}
	if got.String() != whole {
		t.Errorf("the parts give %d bytes, want %d", got.Len(), len(whole))
	}
}

func TestArtifactInsideACharacter(t *testing.T) {
	kept := shelf{}
	keep(t, kept, here, "dice", []byte("🎲🎲"))
	result, err := call(t, kept, "read_artifact", `{"id":"dice","offset":2}`)
	if err != nil || result.Content[0].Text != "[dice.txt, bytes 4 to 8 of 8. This is the end.]\n🎲" {
		t.Errorf("got %v, %v", result.Content, err)
	}
}

// TestArtifactsAreReadFromAnywhere: whatever the offset and the limit, a part is
// what it says it is, nothing but whole characters, and the next one is further on.
func TestArtifactsAreReadFromAnywhere(t *testing.T) {
	kept := shelf{}
	whole := "aä世🎲\n\"🎲é"
	keep(t, kept, here, "x", []byte(whole))
	shape := regexp.MustCompile(`(?s)^\[x\.txt, bytes (\d+) to (\d+) of (\d+)\. (?:Go on with offset (\d+)\.|This is the end\.)\]\n(.*)$`)
	for offset := range len(whole) {
		for limit := 1; limit <= len(whole)+1; limit++ {
			result, err := call(t, kept, "read_artifact", fmt.Sprintf(`{"id":"x","offset":%d,"limit":%d}`, offset, limit))
			if err != nil || result.IsError {
				t.Fatalf("offset %d, limit %d: %v, %v", offset, limit, result.Content, err)
			}
			found := shape.FindStringSubmatch(result.Content[0].Text)
			if found == nil {
				t.Fatalf("offset %d, limit %d: %q", offset, limit, result.Content[0].Text)
			}
			begin, _ := strconv.Atoi(found[1])
			end, _ := strconv.Atoi(found[2])
			switch {
			case begin < offset, begin > offset+3, end > len(whole), whole[begin:end] != found[5], !utf8.ValidString(found[5]), len(found[5]) > max(limit, 4):
				t.Errorf("offset %d, limit %d: %q", offset, limit, result.Content[0].Text)
			case (found[4] == "") != (end == len(whole)), found[4] != "" && (found[4] != found[2] || end <= offset):
				t.Errorf("offset %d, limit %d does not lead on: %q", offset, limit, result.Content[0].Text)
			}
		}
	}
}

func TestArtifactRefusals(t *testing.T) {
	kept := shelf{}
	keep(t, kept, here, "text", []byte("text"))
	keep(t, kept, here, "empty", nil)
	keep(t, kept, here, "image", []byte{0xff, 0xd8, 0xff, 0xe0})
	keep(t, kept, here, "nul", []byte("%PDF\x00"))
	keep(t, kept, ports.Conversation{Channel: "test", Chat: "2"}, "theirs", []byte("a secret"))
	for _, test := range []struct{ args, says string }{
		{`{"id":"theirs"}`, `no artifact "theirs"`},
		{`{"id":"text","offset":4}`, "nothing at offset 4"},
		{`{"id":"text","offset":9223372036854775807}`, "has 4 bytes"},
		{`{"id":"empty","offset":1}`, "has 0 bytes"},
		{`{"id":"image"}`, `"image.txt" (text/plain, 4 bytes) is not text`},
		{`{"id":"nul"}`, "is not text"},
	} {
		result, err := call(t, kept, "read_artifact", test.args)
		if err != nil || !result.IsError || !strings.Contains(result.Content[0].Text, test.says) {
			t.Errorf("%s gives %+v, %v; want it to say %q", test.args, result, err, test.says)
		}
	}
	if result, err := call(t, kept, "read_artifact", `{"id":"empty"}`); err != nil || result.IsError {
		t.Errorf("an empty artifact gives %+v, %v", result, err)
	}
	for args, kind := range map[string]ports.Kind{
		`{}`:                        ports.KindInvalid,
		`{"id":"text","offset":-1}`: ports.KindInvalid,
		`{"id":"text","limit":1e9}`: ports.KindInvalid,
		`{"id":"text","more":1}`:    ports.KindInvalid,
		`{"id":"text"} {}`:          ports.KindInvalid,
		`{"id":"broken"}`:           ports.KindUnavailable,
	} {
		if _, err := call(t, kept, "read_artifact", args); !ports.IsKind(err, kind) {
			t.Errorf("%s gives %v, want kind %s", args, err, kind)
		}
	}
}

// TestHugeArtifact checks that one read stays below the bound of a result.
func TestHugeArtifact(t *testing.T) {
	kept := shelf{}
	keep(t, kept, here, "huge", bytes.Repeat([]byte("x"), 1<<20))
	result, err := call(t, kept, "read_artifact", `{"id":"huge"}`)
	if err != nil || len(result.Content[0].Text) > 16<<10 {
		t.Errorf("a read gives %d bytes, %v", len(result.Content[0].Text), err)
	}
}
