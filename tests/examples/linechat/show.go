package linechat

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
	"unicode"

	"dragoman/ports"
)

// news shows what the feed has behind what was seen. A feed that cannot be read
// now is read again later.
func (s *session) news(ctx context.Context) error {
	for {
		items, err := s.tail(ctx)
		if err != nil {
			if ctx.Err() == nil {
				s.channel.log.Warn("linechat_feed_failed", "user", s.name, "kind", ports.KindOf(err), "err", err)
			}
			return nil
		}
		s.seen = max(s.seen, 0)
		for _, item := range items {
			if err := s.show(item); err != nil {
				return err
			}
			s.seen = item.Seq
		}
		if len(items) < recent {
			return nil
		}
	}
}

func (s *session) tail(ctx context.Context) ([]ports.FeedItem, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.channel.feed.Tail(ctx, s.name, s.seen, recent)
}

func (s *session) show(item ports.FeedItem) error {
	var e entry
	if err := json.Unmarshal(item.Body, &e); err != nil {
		s.channel.log.Warn("linechat_item_unreadable", "user", s.name, "err", err)
		return nil
	}
	s.thinking = false
	return write(s.conn, "< "+strings.ReplaceAll(tame(e.Text), "\n", "\n  ")+"\n")
}

func (s *session) think() error {
	if s.thinking {
		return nil
	}
	s.thinking = true
	return s.note("thinking")
}

// note says something that is not the bot's.
func (s *session) note(format string, args ...any) error {
	return write(s.conn, "* "+fmt.Sprintf(format, args...)+"\n")
}

// tame takes out what steers a terminal: the text is not ours.
func tame(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// write gives up on a person who does not read.
func write(conn net.Conn, text string) error {
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return wrap("write", err)
	}
	_, err := io.WriteString(conn, text)
	return wrap("write", err)
}
