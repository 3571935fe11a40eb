package demo

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"dragoman/ports"
)

var callForm = regexp.MustCompile("(?is)^[\\s`]*/?call\\s+`?([^\\s`{]+)`?\\s*(.*?)[\\s`]*$")

// speaker is what the gateway puts before a message of a group: "Ann: ".
var speaker = regexp.MustCompile(`^[^\n{}]{1,100}?:[ \t]+`)

// note is a line that the gateway puts before a message: what it replies to, or that
// it was edited.
var note = regexp.MustCompile(`^(\[[^\n]*\]\n)+`)

// command is `call NAME {json}`. args is what stood behind the name.
type command struct {
	tool string
	args string
}

// parseCall reads the fixed form, also behind the name of who wrote it. "Ann:
// call mum" is not one: there is no tool "mum", and "Ann" may be no name.
func parseCall(text string, c catalog) (command, bool) {
	if cmd, ok := parseBareCall(text, c); ok {
		return cmd, true
	}
	for name := speaker.FindString(text); name != ""; name = speaker.FindString(text) {
		text = text[len(name):] // once more for a name with a colon in it
		cmd, ok := parseBareCall(text, c)
		if !ok {
			continue
		}
		_, known := c.find(cmd.tool)
		return cmd, cmd.args != "" || len(known) == 1
	}
	return command{}, false
}

// parseBareCall reads the form alone. "call me a taxi" is not one: words stand
// behind the name, and no tool is called "me".
func parseBareCall(text string, c catalog) (command, bool) {
	m := callForm.FindStringSubmatch(text)
	if m == nil {
		return command{}, false
	}
	cmd := command{tool: m[1], args: strings.Trim(m[2], "` \n")}
	if cmd.args == "" || strings.HasPrefix(cmd.args, "{") {
		return cmd, true
	}
	_, known := c.find(cmd.tool)
	return cmd, len(known) == 1
}

// decide makes the call as it was written: arguments that the tool's schema
// forbids go out too, so that the gateway's own check can be seen at work.
func (cmd command) decide(c catalog) decision {
	t, candidates := c.find(cmd.tool)
	if t == nil && len(candidates) == 0 && c.searches() && strings.Contains(cmd.tool, "__") {
		t = &tool{ToolSpec: ports.ToolSpec{Name: cmd.tool}} // it may be there, and not be shown
	}
	switch {
	case len(candidates) > 1:
		return decision{text: sayAmbiguous(cmd.tool, candidates)}
	case t == nil:
		return decision{text: sayUnknown(cmd.tool, c.near(cmd.tool))}
	case cmd.args == "" && len(t.required()) > 0:
		return decision{text: sayForm(*t, nil, t.required())}
	}
	args := strings.NewReplacer("“", `"`, "”", `"`, "„", `"`).Replace(cmd.args)
	if args == "" {
		args = "{}"
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(args), &object); err != nil {
		return decision{text: sayBadJSON(*t, err)}
	}
	return decision{call: &ports.Call{Name: t.Name, Arguments: json.RawMessage(args)}}
}

// find looks a tool up: by its name, then in any case, then by the end of its
// name. It returns the one, or all that it could be.
func (c catalog) find(name string) (*tool, []tool) {
	same := func(t tool) bool { return t.Name == name }
	folded := func(t tool) bool { return strings.EqualFold(t.Name, name) }
	part := func(t tool) bool { return strings.HasSuffix(strings.ToLower(t.Name), "__"+strings.ToLower(name)) }
	tail := func(t tool) bool { return strings.HasSuffix(strings.ToLower(t.Name), strings.ToLower(name)) }
	for _, match := range []func(tool) bool{same, folded, part, tail} {
		var found []tool
		for _, t := range c.tools {
			if match(t) {
				found = append(found, t)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return &found[0], found
		}
		return nil, found
	}
	return nil, nil
}

// near are up to three tools whose names are like name.
func (c catalog) near(name string) []tool {
	type scored struct {
		tool
		distance float64
	}
	var all []scored
	name = strings.ToLower(name)
	for _, t := range c.tools {
		full := strings.ToLower(t.Name)
		short := strings.ToLower(shortName(t.Name))
		d := min(relativeDistance(name, full), relativeDistance(name, short))
		if strings.Contains(full, name) {
			d = min(d, 0.3)
		}
		if d <= 0.6 {
			all = append(all, scored{t, d})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(a.distance, b.distance) })
	var near []tool
	for _, s := range all[:min(3, len(all))] {
		near = append(near, s.tool)
	}
	return near
}

// relativeDistance is the edit distance (Levenshtein) over the longer length.
func relativeDistance(a, b string) float64 {
	x, y := []rune(a), []rune(b)
	if len(x) == 0 || len(y) == 0 {
		return 1
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return float64(row[len(y)]) / float64(max(len(x), len(y)))
}

// intent is what a message without a tool in it is.
type intent int

const (
	somethingElse intent = iota
	asksForHelp
	greets
	thanks
	asksWho
	saysNothing
)

var (
	helpForm = regexp.MustCompile(`^(/?help|help me|/?tools|menu|commands|/?start)$|\bwhat can you do\b|\bwhat (all )?can i (do|ask)\b|` +
		`^((please )?(list|show|give|tell)( me)?( all)?( of)?( the| your| my)?( available)? tools|(what|which) tools\b.*)$`)
	greeting = regexp.MustCompile(`^(hi+|hello|hey+|hei|hallo|hola|moin|servus|bonjour|ciao|salut|yo|greetings|good (morning|afternoon|evening|day))( there| you| all| bot| dragoman| again)*$`)
	identity = regexp.MustCompile(`\b(who|what) are you\b|^are you (really )?(an? )?(bot|human|person|robot|machine|ai|model|llm|real|chatgpt|gpt|claude)\b`)
	gratis   = regexp.MustCompile(`^(ok(ay)? |great |cool )?(many )?(thanks|thank you|thx|ty|takk|danke|merci|gracias)( a lot| so much| very much| you| again)*$`)
)

func kindOf(text string) intent {
	plain := strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !isWordRune(r) && r != '/'
	}), " ")
	switch {
	case plain == "" && strings.TrimSpace(text) != "?":
		return saysNothing
	case plain == "", helpForm.MatchString(plain):
		return asksForHelp
	case greeting.MatchString(plain):
		return greets
	case gratis.MatchString(plain):
		return thanks
	case identity.MatchString(plain):
		return asksWho
	}
	return somethingElse
}
