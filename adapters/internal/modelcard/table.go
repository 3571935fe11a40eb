package modelcard

import (
	_ "embed" // table.json
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

//go:embed table.json
var tableJSON []byte

// row is what the table has of some models that are alike.
type row struct {
	Names     []string `json:"names"`  // as the provider writes them, without a date
	Vendor    string   `json:"vendor"` // whose it is, as OpenRouter writes it; "" = anybody's
	Context   int      `json:"context"`
	MaxOutput int      `json:"max_output"`
	Price     *Price   `json:"price"`
	Images    bool     `json:"images"`
	Audio     bool     `json:"audio"`
	Cache     string   `json:"cache"` // how long a prompt's prefix is kept, as a Go duration
	Open      bool     `json:"open"`  // its weights are, and people run it themselves
	Source    string   `json:"source"`
	AsOf      string   `json:"as_of"`
}

// hosts are where a vendor asks its own prices.
func hosts(vendor string) []string {
	switch vendor {
	case "openai":
		return []string{"api.openai.com", "eu.api.openai.com", "us.api.openai.com"}
	case "anthropic":
		return []string{"api.anthropic.com"}
	case "google":
		return []string{"generativelanguage.googleapis.com"}
	case "deepseek":
		return []string{"api.deepseek.com"}
	case "mistralai":
		return []string{"api.mistral.ai"}
	}
	return nil
}

// regional is a price as it is at a host: OpenAI asks a tenth more where the data
// stays in a region (developers.openai.com/api/docs/pricing).
func regional(host string, p ports.Price) *ports.Price {
	const more = 1.1
	if strings.HasSuffix(strings.ToLower(bare(host)), ".api.openai.com") {
		p.Input, p.CachedInput, p.CacheWrite, p.Output = p.Input*more, p.CachedInput*more, p.CacheWrite*more, p.Output*more
	}
	return &p
}

// bare is a host without its port.
func bare(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// openRouter sells others' models at their prices, by the name vendor/model.
const openRouter = "openrouter.ai"

// table is the rows by name, read once.
var table = sync.OnceValue(func() map[string]row {
	rows, err := read(tableJSON)
	if err != nil {
		panic("modelcard: the built-in table: " + err.Error()) // a test reads it too
	}
	return rows
})

func read(raw []byte) (map[string]row, error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	var list []row
	if err := dec.Decode(&list); err != nil {
		return nil, err
	}
	rows := map[string]row{}
	for _, r := range list {
		for _, name := range r.Names {
			if _, twice := rows[plain(name)]; twice {
				return nil, fmt.Errorf("%s is there twice", name)
			}
			rows[plain(name)] = r
		}
	}
	return rows, nil
}

// lookup is what the table says, with the careful guess for what it does not.
func lookup(host, model string) ports.ModelFacts {
	facts := ports.ModelFacts{ContextTokens: unknownContext, MaxTokens: unknownOutput}
	vendor, name, tag := split(model)
	r, ok := find(name, tag)
	if !ok {
		return facts
	}
	facts.Images, facts.Audio = r.Images, r.Audio
	facts.ContextTokens = r.Context
	if r.Open {
		// What a server of one's own runs it with is a setting of that server, and
		// seldom all that the model could take.
		facts.ContextTokens = min(r.Context, unknownContext)
	}
	if r.MaxOutput > 0 {
		facts.MaxTokens = min(r.MaxOutput, longestReply)
	}
	if !r.sold(host, vendor, tag) {
		return facts
	}
	if r.Price != nil {
		facts.Price = regional(host, *r.Price.full())
	}
	if keep, err := time.ParseDuration(r.Cache); err == nil {
		facts.CacheFor = keep
	}
	return facts
}

// sold reports whether the row's price is asked at a host for this name. What
// stands behind a colon is another offer of the same model.
func (r row) sold(host, vendor, tag string) bool {
	switch host = strings.ToLower(bare(host)); {
	case tag != "":
		return false
	case host == openRouter:
		return vendor == r.Vendor && vendor != ""
	}
	return (vendor == "" || vendor == "models") && slices.Contains(hosts(r.Vendor), host)
}

// split takes a model's name apart: vendor/name:tag. Of several vendors (a
// router before a router) the last counts.
func split(model string) (vendor, name, tag string) {
	name = strings.ToLower(strings.TrimSpace(model))
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		vendor, name = name[:i], name[i+1:]
		vendor = vendor[strings.LastIndexByte(vendor, '/')+1:]
	}
	name, tag, _ = strings.Cut(name, ":")
	return vendor, name, tag
}

// dated is what providers put behind a name for one version of it.
var dated = regexp.MustCompile(`(-\d{4}-\d{2}-\d{2}|[-@]\d{8}|-latest)$`)

func find(name, tag string) (row, bool) {
	if r, ok := table()[plain(name+":"+tag)]; ok && tag != "" {
		return r, true
	}
	if r, ok := table()[plain(name)]; ok {
		return r, true
	}
	r, ok := table()[plain(dated.ReplaceAllString(name, ""))]
	return r, ok
}

// plain is a name in the one spelling that the table is searched by: some write a
// version as 4.6, some as 4-6.
func plain(name string) string { return strings.ReplaceAll(strings.ToLower(name), ".", "-") }
