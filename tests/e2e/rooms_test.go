package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// kitchen is the chat that has an agent of its own.
const kitchen = -5000

// startRooms starts one bot with two agents, each with models, instructions and a
// server of its own: main, and support in the kitchen. Each model answers with its
// name, what it was told, and the servers whose tools it is shown.
func startRooms(t *testing.T) (*gateway, *telegram.Server) {
	t.Helper()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	m := model.New(model.Options{Answer: func(r model.Request) model.Reply {
		var servers []string
		for _, name := range r.Tools {
			if server, _, ok := strings.Cut(name, "__"); ok {
				servers = append(servers, server)
			}
		}
		slices.Sort(servers)
		role := "nobody"
		for _, name := range []string{"a cook", "a clerk"} {
			if strings.Contains(r.Messages[0].Text, "You are "+name) {
				role = name
			}
		}
		return model.Reply{Text: fmt.Sprintf("%s as %s with %v", r.Model, role, slices.Compact(servers))}
	}})
	t.Cleanup(m.Close)
	one := func(name string) string {
		return `"` + name + `": {"type": "openai", "base_url": ` + quoted(m.URL()) + `, "model": "model-` + name + `"}`
	}
	desk := `{"command": ` + quoted(gatewayBinary(t)) + `, "args": ["desk"]}`
	g := startGateway(t, `{
	"listen": "${LISTEN}",
	"models": {`+one("large")+`, `+one("small")+`, `+one("tiny")+`},
	"agents": {
		"main":    {"models": ["large", "small"], "instructions": "You are a clerk.", "mcp_servers": ["office"]},
		"support": {"models": ["tiny"], "instructions": "You are a cook.", "mcp_servers": ["pantry"], "busy": "steer"}},
	"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`, "agent": "main",
		"streaming": "off", "chats": {"`+fmt.Sprint(kitchen)+`": {"agent": "support"}}}},
	"mcp_servers": {"office": `+desk+`, "pantry": `+desk+`, "absent": {"command": "sh", "args": ["-c", "exit 3"]}},
	"access": {"mode": "open"},
	"people": {"ann": {"ids": ["tg:1001"], "role": "admin"}}
}`)
	eventually(t, answerWithin, "both servers are ready", func() error {
		out, _, _ := g.CLI("tools")
		if !strings.Contains(out, "office__") || !strings.Contains(out, "pantry__") {
			return fmt.Errorf("the tools are %s", out)
		}
		return nil
	})
	return g, tg
}

// answered waits for the n-th message of the bot in a chat.
func answered(t *testing.T, tg *telegram.Server, chat int64, n int) string {
	t.Helper()
	eventually(t, answerWithin, fmt.Sprintf("message %d of the bot", n), func() error {
		if got := len(tg.Sent(chat)); got < n {
			return fmt.Errorf("there are %d", got)
		}
		return nil
	})
	return tg.Sent(chat)[n-1].Text
}

// talk is what somebody writes, and what the answer contains and lacks.
type talk struct {
	says       string
	want, lack []string
}

func talks(t *testing.T, tg *telegram.Server, chat int64, already int, say func(string) int, list ...talk) int {
	t.Helper()
	for _, one := range list {
		say(one.says)
		already++
		got := answered(t, tg, chat, already)
		for _, part := range one.want {
			if !strings.Contains(got, part) {
				t.Errorf("to %q the answer is %q, without %q", one.says, got, part)
			}
		}
		for _, part := range one.lack {
			if strings.Contains(got, part) {
				t.Errorf("to %q the answer is %q, with %q", one.says, got, part)
			}
		}
	}
	return already
}

func TestTwoChatsOfOneBotHaveTwoAgents(t *testing.T) {
	t.Parallel()
	_, tg := startRooms(t)
	ann, group := tg.User(1001, "Ann"), tg.Group(kitchen, "Kitchen")
	at := "@" + telegram.DefaultUsername
	inGroup := func(text string) int { return ann.SayIn(group, text) }
	talks(t, tg, ann.ID(), 0, ann.Say,
		talk{"hello", []string{"model-large as a clerk with [office]"}, nil},
		talk{"/tools", []string{"office__"}, []string{"pantry__"}},
		talk{"/model tiny", []string{"no model of that name"}, nil})
	talks(t, tg, group.ID(), 0, inGroup,
		talk{at + " hello", []string{"model-tiny as a cook with [pantry]"}, nil},
		talk{"/tools" + at, []string{"pantry__"}, []string{"office__"}},
		talk{"/model" + at + " large", []string{"no model of that name"}, nil},
		talk{"/status" + at, []string{"Agent: support", "Model: tiny", "Busy mode: steer, as usual", "Chat: -5000 of channel tg"}, []string{"absent"}})
}

func TestAConversationIsSteeredByTyping(t *testing.T) {
	t.Parallel()
	g, tg := startRooms(t)
	ann, bob, group := tg.User(1001, "Ann"), tg.User(1002, "Bob"), tg.Group(kitchen, "Kitchen")
	at := "@" + telegram.DefaultUsername
	n := talks(t, tg, bob.ID(), 0, bob.Say,
		talk{"/help", []string{"/status", "/tools", "/model", "/busy", "/usage", "/stop"}, nil},
		talk{"/usage", []string{"What you used:", "Today: nothing"}, nil},
		talk{"/model", []string{"1. large", "2. small"}, []string{"tiny"}},
		talk{"/model small", []string{"small first"}, nil},
		talk{"hello", []string{"model-small as a clerk"}, nil},
		talk{"/usage", []string{"tokens read", "in 1 request to models", "at a price that I do not know"}, nil},
		talk{"/busy collect", []string{"collect from now on"}, nil},
		talk{"/status", []string{"Agent: main", "Model: small, chosen for this conversation", "Busy mode: collect, chosen for this conversation", "I am at rest", "Version: 0."}, []string{"absent"}})
	eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(g.Dir) }) // else the last answer may come twice
	g.Kill()
	g.Start()
	g.WaitReady()
	talks(t, tg, bob.ID(), n, bob.Say,
		talk{"/status", []string{"Model: small, chosen", "Busy mode: collect, chosen"}, nil},
		talk{"hello again", []string{"model-small as a clerk"}, nil},
		talk{"/model default", []string{"large first"}, nil})
	talks(t, tg, ann.ID(), 0, ann.Say,
		talk{"/usage", []string{"Today: nothing"}, nil},
		talk{"/status", []string{"Model: large\n", "Busy mode: queue, as usual", "Server absent is not ready", "Chat: 1001 of channel tg"}, nil})
	talks(t, tg, group.ID(), 0, func(text string) int { return bob.SayIn(group, text) },
		talk{"/busy" + at + " queue", []string{"only an admin"}, nil},
		talk{"/usage" + at, []string{"What this chat used:", "Today: nothing"}, nil})
}
