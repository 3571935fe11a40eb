package desk

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the zones, for machines that have none
	"unicode"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/server"
)

func worldClock() server.ServerTool {
	return text{
		name: "world_clock", title: "World clock",
		description: "What time it is now in a city or time zone.",
		argument:    "place",
		about:       "A city, as Berlin or Buenos Aires, or an IANA time zone, as Asia/Tokyo.",
		run:         func(place string) (string, error) { return tellTime(place, time.Now()) },
	}.tool()
}

// regions are the parts of the world in which the zone database keeps cities.
func regions() []string {
	return []string{
		"", "Europe/", "Asia/", "America/", "Africa/", "Australia/", "Pacific/", "Atlantic/", "Indian/",
		"America/Argentina/", "America/Indiana/", "America/Kentucky/", "America/North_Dakota/", "Antarctica/", "Arctic/", "Etc/",
	}
}

// elsewhere is the zone of a large city that gives its name to none.
func elsewhere(city string) string {
	return map[string]string{
		"abu dhabi": "Asia/Dubai", "bangalore": "Asia/Kolkata", "barcelona": "Europe/Madrid", "beijing": "Asia/Shanghai",
		"boston": "America/New_York", "cape town": "Africa/Johannesburg", "cologne": "Europe/Berlin", "delhi": "Asia/Kolkata",
		"florence": "Europe/Rome", "frankfurt": "Europe/Berlin", "geneva": "Europe/Zurich", "hamburg": "Europe/Berlin",
		"hanoi": "Asia/Ho_Chi_Minh", "houston": "America/Chicago", "las vegas": "America/Los_Angeles", "lyon": "Europe/Paris",
		"miami": "America/New_York", "milan": "Europe/Rome", "montreal": "America/Toronto", "mumbai": "Asia/Kolkata",
		"munich": "Europe/Berlin", "naples": "Europe/Rome", "new delhi": "Asia/Kolkata", "new york city": "America/New_York",
		"osaka": "Asia/Tokyo", "philadelphia": "America/New_York", "rio de janeiro": "America/Sao_Paulo",
		"saint petersburg": "Europe/Moscow", "san francisco": "America/Los_Angeles", "seattle": "America/Los_Angeles",
		"shenzhen": "Asia/Shanghai", "tel aviv": "Asia/Jerusalem", "washington": "America/New_York", "wellington": "Pacific/Auckland",
	}[city]
}

func tellTime(place string, now time.Time) (string, error) {
	zone, ok := findZone(place)
	if !ok {
		return "", fmt.Errorf("no time zone is known for %q; name the nearest large city, or an IANA time zone such as Europe/Berlin", place)
	}
	there := now.In(zone)
	return fmt.Sprintf("In %s it is %s (%s, UTC%s).", zone, there.Format("15:04 on Monday, 2 January 2006"),
		there.Format("MST"), there.Format("-07:00")), nil
}

// findZone looks a place up in the zone database, whatever its case and its spaces.
func findZone(place string) (*time.Location, bool) {
	place = strings.Join(strings.Fields(strings.ReplaceAll(strings.ToLower(place), "_", " ")), " ")
	if place == "" || place == "local" || strings.ContainsFunc(place, strange) {
		return nil, false
	}
	var spellings []string
	if name := elsewhere(place); name != "" {
		spellings = append(spellings, name)
	}
	spellings = append(spellings, strings.ToUpper(place), titled(place, false), titled(place, true))
	for _, region := range regions() {
		for _, name := range spellings {
			if zone, err := time.LoadLocation(region + name); err == nil {
				return zone, true
			}
		}
	}
	return nil, false
}

func strange(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" /-+'", r)
}

// titled spells a place as the zone database does: words begin with a capital
// and are joined by underscores. With small set the little words are left as
// they are, as in Port_of_Spain and Port-au-Prince.
func titled(place string, small bool) string {
	begins := true
	words := strings.FieldsFunc(place, func(r rune) bool { return strings.ContainsRune(" /-", r) })
	rest := place
	var b strings.Builder
	for _, word := range words {
		at := strings.Index(rest, word)
		b.WriteString(strings.ReplaceAll(rest[:at], " ", "_"))
		rest = rest[at+len(word):]
		if begins || !small || !slices.Contains([]string{"of", "es", "au"}, word) {
			r, size := utf8.DecodeRuneInString(word)
			word = string(unicode.ToUpper(r)) + word[size:]
		}
		b.WriteString(word)
		begins = false
	}
	b.WriteString(rest)
	return b.String()
}
