package gateway_test

import (
	"context"

	"dragoman/ports"
)

// slowChat is a chat whose first send, edit or end takes long.
type slowChat struct {
	*chat
	send, edit, leave once
	taken             bool // a slow send arrives at once, and its answer is late
}

func (c *slowChat) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	if c.taken {
		id, err := c.chat.Send(ctx, m)
		if late := c.send.wait(ctx); late != nil {
			return "", late
		}
		return id, err
	}
	if err := c.send.wait(ctx); err != nil {
		return "", err
	}
	return c.chat.Send(ctx, m)
}

func (c *slowChat) Edit(ctx context.Context, id ports.MessageID, m ports.Outgoing) error {
	if err := c.edit.wait(ctx); err != nil {
		return err
	}
	return c.chat.Edit(ctx, id, m)
}

func (c *slowChat) Run(ctx context.Context, in ports.Receiver) error {
	err := c.chat.Run(ctx, in)
	_ = c.leave.wait(context.WithoutCancel(ctx))
	return err
}

// slowTools are tools of which the first call, or the first end, takes long.
type slowTools struct {
	*tools
	call, leave once
}

func (s *slowTools) Run(ctx context.Context, reg ports.Registrar) error {
	err := s.tools.Run(ctx, slowRegistrar{reg, s})
	_ = s.leave.wait(context.WithoutCancel(ctx))
	return err
}

type slowRegistrar struct {
	ports.Registrar
	s *slowTools
}

func (r slowRegistrar) Register(c ports.Catalog) {
	for i, t := range c.Tools {
		c.Tools[i] = slowTool{t, r.s}
	}
	r.Registrar.Register(c)
}

type slowTool struct {
	ports.ToolPort
	s *slowTools
}

func (t slowTool) Call(ctx context.Context, c ports.ToolCall, h ports.Host) (ports.ToolResult, error) {
	got, err := t.ToolPort.Call(ctx, c, h)
	if late := t.s.call.wait(ctx); late != nil {
		return ports.ToolResult{}, late
	}
	return got, err
}
