package toolbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/ports"
)

const (
	// findTools is the tool by which the model searches. No other has this name.
	findTools = "find_tools"
	// findLimit is how many tools a search lists unless asked for another number,
	// findMax how many at most.
	findLimit, findMax = 8, 20
	// lineMax and serversMax bound what a list says of a tool, and of the servers, in bytes.
	lineMax, serversMax = 160, 2000
	// hugeTokens is what a definition may take that is found: a larger one would fill
	// the window of many models.
	hugeTokens = 30_000
)

var findSchema = fmt.Sprintf(`{"type":"object","properties":{`+
	`"query":{"type":"string","description":"One thing to do, in a few English words: \"create calendar event\""},`+
	`"limit":{"type":"integer","minimum":1,"maximum":%d,"default":%d,"description":"How many tools to list at most"}},`+
	`"required":["query"],"additionalProperties":false}`, findMax, findLimit)

// findSpec is the tool as the model is shown it. The servers are those that have
// tools for it.
func findSpec(servers []string) ports.ToolSpec {
	return ports.ToolSpec{Name: findTools, Title: "Find tools", InputSchema: json.RawMessage(findSchema), Class: ports.ClassRead,
		Description: "Finds more tools by what they do: you are shown only a few of those that there are. Before you say that you cannot do something, or have no access to it, " +
			"search here. What is found you can call from your next step on. There are tools of: " + listed(servers) + "."}
}

// tokens estimates what a definition takes in a prompt. JSON has about 2.2 bytes to a token.
func tokens(s ports.ToolSpec) int {
	return (len(s.Name) + len(s.Description) + len(s.InputSchema)) * 10 / 22
}

// Finding has the view show the model find_tools, and what was found, in place of
// tools whose definitions take more than Config.SearchAbove together. What is found
// in a conversation is kept in records under the agent's name: it stays, also after
// a restart, and no other agent or conversation is shown it. With nil records it is
// not kept.
func (v *View) Finding(agent string, records ports.Records) *View {
	found := *v
	found.finding, found.agent, found.records = true, agent, records
	return &found
}

// finds reports whether the view has find_tools at all.
func (v *View) finds() bool { return v.finding && v.box.cfg.SearchAbove > 0 }

// seen are the tools that the model may be shown, by name, and what they take.
func (v *View) seen() (list []*tool, size int) {
	v.box.mu.RLock()
	tools := v.box.tools
	v.box.mu.RUnlock()
	for _, name := range sortedKeys(tools) {
		if t := tools[name]; v.shows(t) {
			list = append(list, t)
			size += tokens(t.spec)
		}
	}
	return list, size
}

// shows reports whether the model may be shown a tool: denied ones are not.
func (v *View) shows(t *tool) bool { return v.sees(t) && t.policy != ports.PolicyDeny }

// Specs lists the tools that the model is shown in a conversation: all, by name; or,
// where those take too much, the built-in ones and find_tools by name, and then what
// was found, in the order of finding, so that nothing moves what is there already.
func (v *View) Specs(ctx context.Context, in ports.Conversation) []ports.ToolSpec {
	all, size := v.seen()
	var list []ports.ToolSpec
	if !v.finds() || size <= v.room() {
		for _, t := range all {
			list = append(list, t.spec)
		}
		return list
	}
	byName := map[string]*tool{}
	for _, t := range all {
		if t.source.Name == "" {
			list = append(list, t.spec)
		} else {
			byName[t.spec.Name] = t
		}
	}
	list = append(list, findSpec(serversOf(all)))
	slices.SortFunc(list, func(a, b ports.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
	for _, name := range v.kept(ctx, in) {
		if t := byName[name]; t != nil { // else its server is gone, or it: it comes back with it
			list = append(list, t.spec)
		}
	}
	return list
}

// search answers a call of find_tools.
func (v *View) search(ctx context.Context, c ports.ToolCall) ports.CallResult {
	args := struct {
		Query string
		Limit int
	}{Limit: findLimit}
	if err := json.Unmarshal(c.Arguments, &args); err != nil { // the check lets none through
		return ports.CallResult{Outcome: ports.CallInvalidParams, Text: "The arguments do not fit the tool's schema."}
	}
	began := time.Now()
	v.box.await(ctx, func(s *source) time.Duration {
		if !v.connecting(s) {
			return 0
		}
		return s.Timeout - time.Since(began)
	})
	hits := v.best(args.Query, args.Limit)
	if len(hits) == 0 {
		all, _ := v.seen()
		return ports.CallResult{Outcome: ports.CallOK, Text: "Nothing was found. There are tools of these servers: " + listed(serversOf(all)) +
			". Search again in other words: one thing to do, in English, as a tool would describe it." + v.absent()}
	}
	names := make([]string, len(hits))
	for i, t := range hits {
		names[i] = t.spec.Name
	}
	if err := v.keep(ctx, c.In, names); err != nil {
		v.box.log.Warn("found_tools_not_kept", ports.TurnAttr(c.Turn), "kind", ports.KindOf(err), "err", err)
		return ports.CallResult{Outcome: ports.CallToolError, Text: "What was found could not be kept. Try again later."}
	}
	var b strings.Builder
	b.WriteString("You can call these from now on, the best match first:\n")
	for _, t := range hits {
		fmt.Fprintf(&b, "- %s: %s\n", t.spec.Name, aboutTool(t.spec))
	}
	b.WriteString("If none of them is right, search again in other words." + v.absent())
	return ports.CallResult{Outcome: ports.CallOK, Text: strings.ToValidUTF8(b.String(), "\uFFFD")}
}

// absent names, as a sentence, the servers whose tools are not known for now.
func (v *View) absent() string {
	var names []string
	v.box.mu.RLock()
	for _, s := range v.box.sources {
		if v.uses(s.Name) && s.tools == nil && !s.state.Phase.Callable() && s.state.Phase != ports.PhaseDisabled {
			names = append(names, s.Name)
		}
	}
	v.box.mu.RUnlock()
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " Not connected at the moment, so not searched: " + listed(names) + "."
}

// best are the tools that fit a query best and that there is room to show together,
// beside something of what was found before; the first in any case.
func (v *View) best(query string, limit int) (hits []*tool) {
	v.box.mu.RLock()
	tools, index := v.box.tools, v.box.index
	v.box.mu.RUnlock()
	visible := func(name string) bool {
		t := tools[name]
		return t.source.Name != "" && v.shows(t) && tokens(t.spec) <= v.huge()
	}
	room := v.room() * 3 / 4
	for _, name := range index().search(query, limit, visible) {
		if size := tokens(tools[name].spec); size <= room || len(hits) == 0 {
			hits, room = append(hits, tools[name]), room-size
		}
	}
	return hits
}

// windowShare is the share of a model's window that definitions of tools may take.
const windowShare = 4

// room is what the definitions of found tools may take: as much as all could without
// a search.
func (v *View) room() int {
	if v.window > 0 {
		return min(v.box.cfg.SearchAbove, v.window/windowShare)
	}
	return v.box.cfg.SearchAbove
}

// huge is what one found definition may take.
func (v *View) huge() int {
	if v.window > 0 {
		return min(hugeTokens, v.window/windowShare)
	}
	return hugeTokens
}

// Within has the view reckon with models whose window is this, in tokens: tools that
// all together, or as they were found, leave no room in it for a conversation are
// not shown.
func (v *View) Within(window int) *View {
	within := *v
	within.window = window
	return &within
}

// aboutTool is a line on a tool.
func aboutTool(s ports.ToolSpec) string {
	line := strings.Join(strings.Fields(summary(strings.TrimSpace(clip(s.Description, textMax)))), " ")
	if line == "" {
		line = s.Title
	}
	if len(line) > lineMax {
		line = clip(line, lineMax) + " …"
	}
	return line
}

// serversOf are the servers that have some of these tools, by name.
func serversOf(tools []*tool) (names []string) {
	for _, t := range tools {
		if name := t.source.Name; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// listed is a list of names in words, a long one only in part.
func listed(names []string) string {
	text := strings.Join(names, ", ")
	if len(text) > serversMax {
		text = clip(text, serversMax) + " and more"
	}
	return text
}
