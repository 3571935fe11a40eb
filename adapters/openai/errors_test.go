package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/internal/modelcard"
	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

func TestKindsOfAnswers(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1")
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   ports.Kind
		says   string
	}{
		{"no money", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, ports.KindUnauthorized, "insufficient_quota"},
		{"payment", 402, `{"error":{"message":"add credits","code":402}}`, ports.KindUnauthorized, "add credits"},
		{"forbidden", 403, `{"error":{"message":"region"}}`, ports.KindUnauthorized, "region"},
		{"overflow in words", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, …","type":"BadRequestError","code":400}}`, ports.KindTooLarge, "8192"},
		{"overflow of llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, ports.KindTooLarge, "exceeds"},
		{"overflow of Gemini, in a list", 400, `[{"error":{"code":400,"message":"The input token count (99) exceeds the maximum","status":"INVALID_ARGUMENT"}}]`, ports.KindTooLarge, "INVALID_ARGUMENT"},
		{"a limit of tokens is no overflow", 429, `{"error":{"message":"Too many tokens in this minute","type":"tokens"}}`, ports.KindRateLimited, "tokens"},
		{"body too large", 413, ``, ports.KindTooLarge, "413"},
		{"filter", 400, `{"error":{"message":"no","code":"content_filter"}}`, ports.KindRefused, "content_filter"},
		{"unprocessable", 422, `{"detail":"bad tools[3]"}`, ports.KindInvalid, "tools[3]"},
		{"request timeout", 408, ``, ports.KindTemporary, "408"},
		{"conflict", 409, `{"message":"busy"}`, ports.KindTemporary, "busy"},
		{"error as a text", 404, `{"error":"model 'x' not found, try pulling it first"}`, ports.KindNotFound, "try pulling"},
		{"error in an odd form", 500, `{"error":[1,2]}`, ports.KindTemporary, "unknown form"},
		{"no body", 503, ``, ports.KindTemporary, "503"},
		{"cut at a length", 500, `{"error":{"message":"` + strings.Repeat("é", 3000) + `"}}`, ports.KindTemporary, "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.answer(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			})
			_, err := m.Generate(t.Context(), hello(), nil)
			if !ports.IsKind(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v; want %s with %q", ports.KindOf(err), err, c.kind, c.says)
			}
			if e := as[*wire.ProviderError](t, err); e.Status != c.status || len(err.Error()) > 1500 {
				t.Errorf("status %d, %d bytes of text", e.Status, len(err.Error()))
			}
		})
	}
}

func TestKindsOfStreams(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1")
	for name, c := range map[string]struct {
		frames []string
		kind   ports.Kind
	}{
		"error of unknown type":    {[]string{`{"error":{"message":"?"}}`}, ports.KindProtocol},
		"error with a status":      {[]string{`{"error":{"message":"?","code":502}}`}, ports.KindTemporary},
		"error with a text":        {[]string{`{"error":"rate limited"}`}, ports.KindProtocol},
		"overflow midway":          {[]string{`{"error":{"code":"context_length_exceeded"}}`}, ports.KindTooLarge},
		"key midway":               {[]string{`{"error":{"type":"authentication_error"}}`}, ports.KindUnauthorized},
		"bad request midway":       {[]string{`{"error":{"type":"invalid_request_error"}}`}, ports.KindInvalid},
		"chunk of a wrong shape":   {[]string{`[1,2,3]`}, ports.KindProtocol},
		"done without a finish":    {[]string{`{"choices":[{"index":0,"delta":{"content":"x"}}]}`, `[DONE]`}, ports.KindProtocol},
		"finished by an error":     {[]string{`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"error"}]}`, `[DONE]`}, ports.KindProtocol},
		"a call without a name":    {[]string{`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`}, ports.KindProtocol},
		"finish of another choice": {[]string{`{"choices":[{"index":1,"delta":{"content":"x"},"finish_reason":"stop"}]}`, `[DONE]`}, ports.KindProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			p.says(c.frames...)
			if reply, err := m.Generate(t.Context(), hello(), nil); !ports.IsKind(err, c.kind) {
				t.Errorf("%s: %v (%+v); want %s", ports.KindOf(err), err, reply, c.kind)
			}
		})
	}
}

func TestAnErrorInAJSONBodyKeepsItsKind(t *testing.T) {
	p := newPeer(t)
	p.answer(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"error":{"message":"Rate limit reached","code":429}}`)
	})
	_, err := testModel(t, p.URL+"/v1").Generate(t.Context(), hello(), nil)
	if !ports.IsKind(err, ports.KindRateLimited) {
		t.Errorf("%s: %v", ports.KindOf(err), err)
	}
}

func TestUnreachableIsTemporary(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = testModel(t, "http://"+address+"/v1").Generate(t.Context(), hello(), nil)
	if !ports.IsKind(err, ports.KindTemporary) {
		t.Errorf("%s: %v", ports.KindOf(err), err)
	}
	as[*net.OpError](t, err)
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no model":        func(c *Config) { c.Model = " " },
		"no url":          func(c *Config) { c.BaseURL = "" },
		"no scheme":       func(c *Config) { c.BaseURL = "localhost:1" },
		"user in the url": func(c *Config) { c.BaseURL = "http://u:p@localhost" },
		"other wire":      func(c *Config) { c.API = "telepathy" },
		"no slots":        func(c *Config) { c.MaxConcurrency = 0 },
		"no window":       func(c *Config) { c.ContextTokens = -1 },
		"no prompt":       func(c *Config) { c.MaxOutputTokens = c.ContextTokens },
		"other calls":     func(c *Config) { c.ToolCalls = "xml" },
		"half a price":    func(c *Config) { c.Price = &modelcard.Price{} },
		"no time":         func(c *Config) { c.IdleTimeout = 0 },
	} {
		cfg := testConfig("http://localhost/v1")
		change(&cfg)
		if _, err := New(cfg, nil); !ports.IsKind(err, ports.KindInvalid) || errors.Unwrap(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWaitingForASlotEndsWithItsContext(t *testing.T) {
	p := newPeer(t)
	entered := make(chan struct{}, 1)
	p.answer(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
	})
	m := testModel(t, p.URL+"/v1", func(c *Config) { c.MaxConcurrency = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := m.Generate(ctx, hello(), nil)
		first <- err
	}()
	<-entered
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := m.Generate(short, hello(), nil); !ports.IsKind(err, ports.KindTimeout) {
		t.Errorf("%s: %v", ports.KindOf(err), err)
	}
	if seen, _ := p.got(t.Context()); seen.Requests != 1 {
		t.Errorf("%d requests got through", seen.Requests)
	}
	cancel()
	if err := <-first; !ports.IsKind(err, ports.KindCancelled) {
		t.Errorf("%s: %v", ports.KindOf(err), err)
	}
	p.says(`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`)
	patient, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	if _, err := m.Generate(patient, hello(), nil); err != nil {
		t.Errorf("the slot was not given back: %v", err)
	}
}
