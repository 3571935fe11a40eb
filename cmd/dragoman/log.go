package main

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"

	"dragoman/config"
)

// newLog makes the logger that the config asks for, on w: colours on a terminal,
// JSON for machines.
func newLog(cfg config.Log, w *os.File) *slog.Logger { return newLogTo(cfg, w, w) }

// newLogTo is newLog for lines that reach like by way of w.
func newLogTo(cfg config.Log, w io.Writer, like *os.File) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(cfg.Level)) != nil {
		level = slog.LevelInfo
	}
	pretty := cfg.Format == "pretty" || cfg.Format == "" && isatty.IsTerminal(like.Fd())
	return slog.New(newHandler(w, level, pretty, isatty.IsTerminal(like.Fd())))
}

func newHandler(w io.Writer, level slog.Level, pretty, colour bool) slog.Handler {
	if pretty {
		return tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !colour})
	}
	return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: plainDurations})
}

// plainDurations writes durations as people read them, in JSON too.
func plainDurations(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.String(a.Key, a.Value.Duration().String())
	}
	return a
}
