package outbox

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"dragoman/ports"
)

// maxSpelled is how many messages code may fill that the platform takes no file of.
const maxSpelled = 20

// textCutShort is the last of them where that is not enough.
const textCutShort = "The rest of it is too long to be posted here."

// isCode reports whether a file is code of an answer: there is nothing else to read of it.
func isCode(f ports.File) bool { return strings.HasPrefix(f.Artifact, codeID) }

// spell posts code whose file the platform does not take, as the messages that it
// would have been. Where one of them fails, those before it are not posted again when
// the delivery is tried again; a crash repeats them, as far as their nonces let it.
func (o *Outbox) spell(ctx context.Context, c *channel, d ports.Delivery) (id ports.MessageID, err error) {
	parts, err := o.spelled(ctx, c, d)
	if err != nil {
		return "", err
	}
	nonce := d.Out.Nonce
	posted, _ := o.spelling(d.ID)
	for i := posted; i < len(parts); i++ {
		d.Out.Content, d.Out.Nonce = parts[i], fmt.Sprintf("%s/%d", nonce, i)
		if id, err = c.port.Send(ctx, d.Out); err != nil {
			return "", err
		}
		o.spelt(d.ID, i+1)
	}
	return id, nil
}

// spelled are the messages that a file's code fills.
func (o *Outbox) spelled(ctx context.Context, c *channel, d ports.Delivery) ([]ports.Content, error) {
	f := d.Out.Content.File
	r, err := o.open(ctx, d.Out.In, f.Artifact)
	if err != nil {
		return nil, err
	}
	code, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	fence := "```"
	for strings.Contains(string(code), fence) {
		fence += "`"
	}
	text := fmt.Sprintf("%s%s\n%s\n%s", fence, strings.TrimPrefix(path.Ext(f.Name), "."), strings.TrimSuffix(string(code), "\n"), fence)
	parts := o.renderText(c, ports.TurnOf(d.ID), d.Out.In, ports.Content{Text: text})
	if len(parts) > maxSpelled {
		parts = append(parts[:maxSpelled-1], o.renderText(c, ports.TurnOf(d.ID), d.Out.In, ports.Content{Text: textCutShort})...)
	}
	return parts, nil
}

// spelling is how many messages of a delivery's code are posted; is says whether it
// is posted so.
func (o *Outbox) spelling(delivery string) (posted int, is bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	posted, is = o.code[delivery]
	return posted, is
}

func (o *Outbox) spelt(delivery string, posted int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.code[delivery] = posted
}

// forget lets go of what is known of a delivery that has come to its end.
func (o *Outbox) forget(delivery string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.code, delivery)
}
