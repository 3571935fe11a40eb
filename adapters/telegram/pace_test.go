package telegram

import (
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

func TestWhoseLimitARefusalIs(t *testing.T) {
	for _, c := range []struct {
		name  string
		chat  int64
		wrote time.Duration // ago; 0 = never
		wide  bool
	}{
		{"a person who was not written to", 7, 0, true},
		{"a person who was just written to", 7, time.Second, false},
		{"a person who was written to a while ago", 7, 4 * time.Second, true},
		{"a group that was written to within a minute", -7, 59 * time.Second, false},
		{"a group that was quiet", -7, 61 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ch Channel
				if c.wrote > 0 {
					if err := ch.wrapWrite("send", c.chat, nil); err != nil {
						t.Fatal(err)
					}
					time.Sleep(c.wrote)
				}
				err := ch.wrapWrite("send", c.chat, &apiError{Code: 429, RetryAfter: 3 * time.Second})
				if e, ok := err.(*ports.Error); !ok || e.Wide != c.wide || e.RetryAfter != 3*time.Second {
					t.Errorf("the refusal is %+v, wide should be %v", err, c.wide)
				}
			})
		})
	}
}

func TestARefusalAfterTheWaitIsStillTheChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ch Channel
		if err := ch.wrapWrite("send", 7, nil); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			err := ch.wrapWrite("send", 7, &apiError{Code: 429, RetryAfter: 30 * time.Second})
			if e, ok := err.(*ports.Error); !ok || e.Wide {
				t.Errorf("refusal %d is %+v: it shuts the whole account", i, err)
			}
			time.Sleep(31 * time.Second)
		}
	})
}

func TestPaceForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		for i := range int64(3 * paceMax) {
			p.wrote(i+1, 0)
			time.Sleep(time.Minute / paceMax)
		}
		if n := len(p.last); n > 2*paceMax {
			t.Errorf("%d chats are remembered", n)
		}
	})
}
