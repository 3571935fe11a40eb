//go:build unix

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// strictTask is a call that the server runs by itself.
type strictTask struct {
	id     string
	states []string // members of a task, one for each look; the last one stays
	result string   // of tasks/result
	ask    string   // params of a form that tasks/result asks for; "" = none
	lose   int      // how many updates are cut off
	every  time.Duration

	looks   int
	last    time.Time
	updates []map[string]json.RawMessage
	answer  inputAnswer
	stopped bool
}

// become answers a call with a task.
func (c *strictCall) become(t *strictTask) {
	switch {
	case !c.modern && isNull(c.p.Task):
		c.fault("the tool runs as a task only")
		return
	case c.modern && !strings.Contains(string(c.p.Meta[metaCapabilities]), extensionTasks):
		c.refuse(-32021, "Missing required client capability", "")
		return
	}
	t.last = time.Now()
	c.note(func() { c.tasks[t.id] = t })
	seed := fmt.Sprintf(`"taskId":%q,"status":"working","createdAt":"2026-11-21T10:00:00Z","lastUpdatedAt":"2026-11-21T10:00:00Z"`, t.id)
	if c.modern {
		c.result(fmt.Sprintf(`{"resultType":"task",%s,"ttlMs":null,"pollIntervalMs":%d}`, seed, t.every.Milliseconds()))
		return
	}
	c.result(fmt.Sprintf(`{"task":{%s,"ttl":60000,"pollInterval":%d}}`, seed, t.every.Milliseconds()))
}

// task serves what can be asked of a task.
func (c *strictCall) task() {
	c.mu.Lock()
	t := c.tasks[c.p.TaskID]
	c.mu.Unlock()
	modernOnly, legacyOnly := c.m.Method == "tasks/update", c.m.Method == "tasks/result"
	switch {
	case modernOnly && !c.modern, legacyOnly && c.modern:
		c.fault("it is of the other era")
		return
	case c.modern && !strings.Contains(string(c.p.Meta[metaCapabilities]), extensionTasks):
		c.fault("the extension was not declared")
		return
	case c.m.Method == "tasks/cancel" && !c.modern && !strings.Contains(c.can, `"cancel"`):
		c.fault("cancel was not declared")
		return
	case t == nil:
		c.refuse(-32602, "there is no such task", "")
		return
	}
	switch c.m.Method {
	case "tasks/get":
		c.look(t)
	case "tasks/update":
		c.mu.Lock()
		lost := t.lose > 0
		t.lose--
		c.mu.Unlock()
		if lost {
			c.out(hangUp)
			return
		}
		c.note(func() { t.updates = append(t.updates, c.p.Responses) })
		c.result(`{}`)
	case "tasks/cancel":
		c.note(func() { t.stopped = true })
		c.result(fmt.Sprintf(`{"taskId":%q,"status":"cancelled"}`, t.id))
	case "tasks/result":
		if t.ask != "" {
			got := c.ask(methodElicit, t.ask, c.out)
			c.note(func() { t.answer, t.ask = got, "" })
		}
		c.result(t.result)
	}
}

func (c *strictCall) look(t *strictTask) {
	c.mu.Lock()
	state := t.states[min(t.looks, len(t.states)-1)]
	soon := time.Since(t.last) < t.every*9/10
	t.looks++
	t.last = time.Now()
	c.mu.Unlock()
	if soon {
		c.fault("the task was looked at too soon")
		return
	}
	interval := "pollInterval"
	if c.modern {
		interval = "pollIntervalMs"
	}
	if strings.HasPrefix(state, "{") {
		c.result(state)
		return
	}
	if state == hangUp {
		c.out(state)
		return
	}
	c.result(fmt.Sprintf(`{"taskId":%q,%q:%d,%s}`, t.id, interval, t.every.Milliseconds(), state))
}
