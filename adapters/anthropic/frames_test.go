package anthropic

import "fmt"

// Frames of a stream, as the API writes them.
const (
	begun   = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}`
	stopped = `{"type":"message_stop"}`
)

func startText(i int) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, i)
}

func startThinking(i int) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"thinking","thinking":"","signature":""}}`, i)
}

func redacted(i int, data string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"redacted_thinking","data":%q}}`, i, data)
}

func startCall(i int, id, name string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, i, id, name)
}

func delta(i int, kind, field, value string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%q}}`, i, kind, field, value)
}

func says(i int, text string) string   { return delta(i, "text_delta", "text", text) }
func thinks(i int, text string) string { return delta(i, "thinking_delta", "thinking", text) }
func signs(i int, text string) string  { return delta(i, "signature_delta", "signature", text) }
func argues(i int, text string) string { return delta(i, "input_json_delta", "partial_json", text) }
func ended(i int) string               { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func stops(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":7}}`, reason)
}

// oneWord is a whole reply.
var oneWord = []string{begun, startText(0), says(0, "x"), ended(0), stops("end_turn"), stopped}
