package wire

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ms, value, date string
		want            time.Duration
	}{
		{"", "", "", 0},
		{"", "7", "", 7 * time.Second},
		{"", "0.5", "", 500 * time.Millisecond},
		{"250", "7", "", 250 * time.Millisecond},
		{"x", "7", "", 7 * time.Second},
		{"", "-7", "", 0},
		{"", "NaN", "", 0},
		{"", "1e300", "", 24 * time.Hour},
		{"", "soon", "", 0},
		{"", "Fri, 20 Nov 2026 12:00:30 GMT", "", 30 * time.Second},
		{"", "Fri, 20 Nov 2026 11:00:00 GMT", "", 0},
		{"", "Fri, 20 Nov 2026 13:00:30 GMT", "Fri, 20 Nov 2026 13:00:00 GMT", 30 * time.Second},
	} {
		h := http.Header{}
		for name, v := range map[string]string{"Retry-After-Ms": c.ms, "Retry-After": c.value, "Date": c.date} {
			if v != "" {
				h.Set(name, v)
			}
		}
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("%v gives %s, not %s", h, got, c.want)
		}
	}
}
