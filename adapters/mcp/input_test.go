//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"dragoman/ports"
)

// longForm asks for a value of each type.
const longForm = `{"message":"Tell me.","requestedSchema":{"type":"object","required":["name"],"properties":{` +
	`"name":{"type":"string","title":"Your name","description":"as in your passport"},` +
	`"age":{"type":"integer"},"agree":{"type":"boolean","default":false},"level":{"type":"number","default":2.5},` +
	`"color":{"type":"string","enum":["red","blue"],"enumNames":["Red","Blue"],"default":"red"},` +
	`"size":{"type":"string","oneOf":[{"const":"s","title":"Small"}],"default":"s"},` +
	`"tags":{"type":"array","items":{"enum":["a","b"]}}}}}`

// hostileState is a requestState that JSON and careless clients change.
const hostileState = "eyJ=+/ \u00e9<&>\u2028\\\"\t"

func wantsInput(c *strictCall, requests string, state *string) {
	if requests == "" {
		requests = "{}"
	}
	raw, _ := json.Marshal(state)
	if state == nil {
		c.result(`{"resultType":"input_required","inputRequests":` + requests + `}`)
		return
	}
	c.result(`{"resultType":"input_required","inputRequests":` + requests + `,"requestState":` + string(raw) + `}`)
}

// TestACallThatNeedsInputGoesOnWithIt: the state goes back as it came, the values
// in the types that the form wants, what nobody said as its default, and roots
// without a person.
func TestACallThatNeedsInputGoesOnWithIt(t *testing.T) {
	for _, wire := range []string{"stdio", "http"} {
		for name, state := range map[string]*string{"with a state": new(hostileState), "with an empty state": new(""), "without a state": nil} {
			t.Run(name+" over "+wire, func(t *testing.T) {
				t.Parallel()
				var got atomic.Pointer[strictParams]
				s := newStrict(t, newestModern)
				s.call = func(c *strictCall) {
					if c.p.Responses == nil {
						wantsInput(c, `{"me":{"method":"elicitation/create","params":`+longForm+`},"where":{"method":"roots/list","params":{}}}`, state)
						return
					}
					got.Store(&c.p)
					c.result(doneText)
				}
				r := s.running(wire, Deps{Asks: true}, func(c *Config) { c.Roots = []string{"/srv/data"} })
				result, err := r.tool("work").Call(t.Context(), keyed("k"), nil)
				if err != nil || result.NeedsInput == nil {
					t.Fatalf("the call gives %+v, %v", result, err)
				}
				wantForm(t, result.NeedsInput)
				call := keyed("k")
				call.Resume = &ports.Resume{State: result.NeedsInput.State, Answers: map[string]string{"me/name": "Ann", "me/age": " 7", "me/agree": "true", "me/tags": `["a","b"]`}}
				if result, err = r.tool("work").Call(t.Context(), call, nil); err != nil || wantText(result, "done") != nil {
					t.Fatalf("with the answers it gives %+v, %v", result, err)
				}
				p := got.Load()
				if (p.State == nil) != (state == nil) || state != nil && *p.State != *state {
					t.Errorf("the state came back as %v", p.State)
				}
				if me := string(p.Responses["me"]); me != `{"action":"accept","content":{"age":7,"agree":true,"color":"red","level":2.5,"name":"Ann","size":"s","tags":["a","b"]}}` {
					t.Errorf("the server heard %s", me)
				}
				if where := string(p.Responses["where"]); where != `{"roots":[{"uri":"file:///srv/data","name":"data"}]}` {
					t.Errorf("the roots are %s", where)
				}
			})
		}
	}
}

func wantForm(t *testing.T, n *ports.NeedsInput) {
	t.Helper()
	var names []string
	for _, f := range n.Requests {
		names = append(names, f.Name)
	}
	if n.Text != "Tell me." || fmt.Sprint(names) != "[me/age me/agree me/color me/level me/name me/size me/tags]" {
		t.Fatalf("the form is %q with %v", n.Text, names)
	}
	name, color := n.Requests[4], n.Requests[2]
	if !name.Required || name.Label != "Your name: as in your passport" || color.Required {
		t.Errorf("the fields are %+v and %+v", name, color)
	}
	if !slices.Equal(color.Choices, []ports.Choice{{Value: "red", Label: "Red"}, {Value: "blue", Label: "Blue"}}) {
		t.Errorf("the choices are %+v", color.Choices)
	}
}

func TestAFormThatNobodyFillsInIsDeclined(t *testing.T) {
	s := newStrict(t, newestModern)
	s.call = func(c *strictCall) {
		if c.p.Responses == nil {
			wantsInput(c, `{"me":{"method":"elicitation/create","params":`+nameForm+`}}`, nil)
			return
		}
		c.result(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, c.p.Responses["me"]))
	}
	r := s.running("http", Deps{Asks: true})
	result, err := r.tool("work").Call(t.Context(), keyed("k"), nil)
	if err != nil {
		t.Fatal(err)
	}
	call := keyed("k")
	call.Resume = &ports.Resume{State: result.NeedsInput.State}
	if result, err = r.tool("work").Call(t.Context(), call, nil); err != nil || wantText(result, `{"action":"decline"}`) != nil {
		t.Errorf("the server says %+v, %v", result, err)
	}
}

// TestWhatNeedsNobodyIsAnsweredByItself: roots, and a state that only wants to come
// back, though not for ever.
func TestWhatNeedsNobodyIsAnsweredByItself(t *testing.T) {
	for name, rounds := range map[string]int{"twice": 2, "for ever": maxRounds + 5} {
		t.Run(name, func(t *testing.T) {
			s := newStrict(t, newestModern)
			n := 0
			s.call = func(c *strictCall) {
				if n > 0 && (c.p.State == nil || *c.p.State != fmt.Sprint("state ", n)) {
					c.fault("the state is %v", c.p.State)
					return
				}
				if n++; n <= rounds {
					wantsInput(c, `{"where":{"method":"roots/list"}}`, new(fmt.Sprint("state ", n)))
					return
				}
				c.result(doneText)
			}
			r := s.running("http", Deps{}, func(c *Config) { c.Roots = []string{"/srv"} })
			result, err := r.tool("work").Call(t.Context(), keyed("k"), nil)
			if rounds > maxRounds {
				wantKind(t, err, ports.KindProtocol, "without an end")
				if n != maxRounds {
					t.Errorf("it was called %d times, want %d", n, maxRounds)
				}
				return
			}
			if err != nil || wantText(result, "done") != nil {
				t.Errorf("the call gives %+v, %v", result, err)
			}
		})
	}
}

func TestInputThatWasNotOfferedFailsTheCall(t *testing.T) {
	for name, test := range map[string]struct {
		result, says string
	}{
		"a form":       {`"inputRequests":{"x":{"method":"elicitation/create","params":` + nameForm + `}}`, "elicitation/create, which it was not offered"},
		"the model":    {`"inputRequests":{"x":{"method":"sampling/createMessage","params":{}}}`, "sampling/createMessage, which it was not offered"},
		"the roots":    {`"inputRequests":{"x":{"method":"roots/list"}}`, "roots/list, which it was not offered"},
		"nothing":      {`"inputRequests":{}`, "does not say which"},
		"no request":   {`"inputRequests":{"x":7}`, "malformed"},
		"state of int": {`"requestState":7`, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStrict(t, newestModern)
			s.call = func(c *strictCall) { c.result(`{"resultType":"input_required",` + test.result + `}`) }
			_, err := s.running("http", Deps{}).tool("work").Call(t.Context(), keyed("k"), nil)
			wantKind(t, err, ports.KindProtocol, test.says)
			if n := len(s.requests("tools/call")); n != 1 {
				t.Errorf("it was called %d times", n)
			}
		})
	}
}

// TestFormValuesAreTyped: what is not of the type stays what the person wrote, and
// can be sent.
func TestFormValuesAreTyped(t *testing.T) {
	for _, test := range []struct{ kind, text, want string }{
		{"integer", "7", "7"}, {"integer", `"7"`, `"\"7\""`}, {"integer", "true", `"true"`}, {"integer", "many", `"many"`},
		{"integer", "1e3", "1e3"}, {"number", "-2.50", "-2.50"}, {"number", "0x10", `"0x10"`}, {"number", "NaN", `"NaN"`}, {"number", "", `""`},
		{"boolean", "TRUE", "true"}, {"boolean", "0", "false"}, {"boolean", "maybe", `"maybe"`},
		{"array", `["a","b"]`, `["a","b"]`}, {"array", "a", `["a"]`}, {"string", "7", `"7"`}, {"", "x", `"x"`},
	} {
		got, err := json.Marshal(formValue{Type: test.kind}.value(test.text))
		if err != nil || string(got) != test.want {
			t.Errorf("%s %q becomes %s, %v; want %s", test.kind, test.text, got, err, test.want)
		}
	}
}

// TestAFormReachesItsOwnCallsPerson: of two people whose calls run in one session
// over HTTP each hears their own server's question alone.
func TestAFormReachesItsOwnCallsPerson(t *testing.T) {
	s := newStrict(t, newestLegacy)
	running := 0
	s.call = func(c *strictCall) {
		c.note(func() { running++ })
		c.until(c.ctx, func() bool { return running == 2 })
		var args struct {
			Who string `json:"who"`
		}
		_ = json.Unmarshal(c.p.Arguments, &args)
		got := c.ask(methodElicit, strings.Replace(nameForm, "Who are you?", "Are you "+args.Who+"?", 1), c.out)
		c.result(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, got.Result))
	}
	r := s.running("http", Deps{Asks: true})
	people := map[string]*person{}
	gave := make(chan error, 2)
	for _, who := range []string{"Ann", "Bob"} {
		host := filling(map[string]string{"name": who})
		people[who] = host
		call := ports.ToolCall{Call: ports.Call{Arguments: json.RawMessage(fmt.Sprintf(`{"who":%q}`, who))}, Person: ports.PersonID(who), Key: who}
		go func() {
			result, err := r.tool("work").Call(context.WithoutCancel(t.Context()), call, host)
			if err == nil {
				err = wantText(result, fmt.Sprintf(`{"action":"accept","content":{"name":%q}}`, who))
			}
			gave <- err
		}()
	}
	for range 2 {
		if err := <-gave; err != nil {
			t.Error(err)
		}
	}
	for who, host := range people {
		if len(host.asked) != 1 || host.asked[0].Text != "Are you "+who+"?" {
			t.Errorf("%s was asked %+v", who, host.asked)
		}
	}
}

// TestAFormThatNobodyCanPlaceIsCancelled: on stdio a request does not say which
// call it is about. With one call there is no doubt.
func TestAFormThatNobodyCanPlaceIsCancelled(t *testing.T) {
	for calls, want := range map[int]string{1: `{"action":"accept","content":{"name":"Ann"}}`, 2: `{"action":"cancel"}`} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) {
			s := newStrict(t, newestLegacy)
			running := 0
			s.call = func(c *strictCall) {
				c.note(func() { running++ })
				c.until(c.ctx, func() bool { return running >= calls })
				got := c.ask(methodElicit, nameForm, c.out)
				c.note(func() { running += 10 })
				c.until(c.ctx, func() bool { return running == 11*calls })
				c.result(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, got.Result))
			}
			r := s.running("stdio", Deps{Asks: true})
			host := filling(map[string]string{"name": "Ann"})
			gave := make(chan error, calls)
			for i := range calls {
				go func() {
					result, err := r.tool("work").Call(t.Context(), keyed(fmt.Sprint(i)), host)
					if err == nil {
						err = wantText(result, want)
					}
					gave <- err
				}()
			}
			for range calls {
				if err := <-gave; err != nil {
					t.Error(err)
				}
			}
			if n := host.questions(); calls == 2 && n != 0 || calls == 1 && n != 1 {
				t.Errorf("%d questions", n)
			}
		})
	}
}
