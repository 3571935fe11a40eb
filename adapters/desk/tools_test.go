package desk

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestCalculate(t *testing.T) {
	for expression, want := range map[string]string{
		"1+2*3":                 "7",
		"(1+2)*3":               "9",
		"2*3^2":                 "18",
		"-2^2":                  "-4",
		"2^-2":                  "0.25",
		"2^3^2":                 "512",
		"2**10":                 "1024",
		"0.1+0.2":               "0.3",
		"1/3":                   "≈ 0.333333333333333",
		"10 % 3":                "1",
		"-7 % 3":                "2",
		"7.5 % 2":               "1.5",
		"1e3":                   "1000",
		"1.5e-2":                "0.015",
		".5 + 5.":               "5.5",
		"sqrt(16)":              "4",
		"sqrt(2)":               "≈ 1.4142135623731",
		"9^0.5":                 "3",
		"abs(-3) + floor(-1.5)": "1",
		"ceil(1.2)":             "2",
		"round(2.5)":            "3",
		"round(-2.5)":           "-3",
		"min(3, 1, 2)":          "1",
		"max(3, 1/2, 2)":        "3",
		"1^999999999999":        "1",
		"(-1)^999999999999":     "-1",
		"(-1)^0":                "1",
		"0^0":                   "1",
		"6 × 7 ÷ 2 − 1":         "20",
		"--1":                   "1",
		"3000000000*3000000000": "9000000000000000000",
	} {
		if got, err := calculate(expression); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", expression, got, err, want)
		}
	}
}

func TestCalculateRefuses(t *testing.T) {
	for expression, says := range map[string]string{
		"":                             "too early",
		"1+":                           "too early",
		"(1":                           ") is missing",
		"1)":                           `')' is not expected`,
		"1 2":                          `'2' is not expected`,
		"1/0":                          "division by zero",
		"0^-1":                         "division by zero",
		"5 % 0":                        "division by zero",
		"2^1000000":                    "too large",
		"9^9^9^9":                      "too large",
		"10^10^10":                     "too large",
		"1e999999999":                  "exponent",
		"1e":                           "exponent",
		"2^0.3":                        "whole number",
		"sqrt(-1)":                     "negative",
		"sin(1)":                       `"sin" is not known`,
		"os.Exit(1)":                   `"os" is not known`,
		"abs(1,2)":                     "one number",
		"π":                            `'π' is not expected`,
		".":                            `'.' is not expected`,
		strings.Repeat("(", 200) + "1": "nested",
		strings.Repeat("-", 200) + "1": "nested",
		"2^4000*2^4000":                "too large",
	} {
		if got, err := calculate(expression); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s = %q, %v; want it refused with %q", expression, got, err, says)
		}
	}
}

func FuzzCalculate(f *testing.F) {
	for _, seed := range []string{"1+2*3", "2^-0.5", "sqrt(2)/3e9", "max(1,min(2,3))%7", "9^9^9", "((((", "1e-300^13"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		if len(expression) > maxArgument {
			t.Skip()
		}
		begun := time.Now()
		text, err := calculate(expression)
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%q took %s", expression, took)
		}
		if (err == nil) == (text == "") {
			t.Errorf("%q gives %q and %v", expression, text, err)
		}
	})
}

func TestRoll(t *testing.T) {
	for _, wish := range []string{"2d6", "d20", "3D8 + 2", "100d1000-5"} {
		got, err := roll(wish)
		if err != nil {
			t.Errorf("%s: %v", wish, err)
			continue
		}
		_, sums, _ := strings.Cut(got, ": ")
		parts, total, _ := strings.Cut(sums, " = ")
		sum := 0
		for part := range strings.SplitSeq(parts, " + ") {
			n, err := strconv.Atoi(strings.Trim(part, "()"))
			if err != nil {
				t.Errorf("%s gives %q", wish, got)
			}
			sum += n
		}
		if strconv.Itoa(sum) != total {
			t.Errorf("%s gives %q, which adds up to %d", wish, got, sum)
		}
	}
	for _, wish := range []string{"", "d", "2d", "0d6", "2d1", "101d6", "2d1001", "2d6x", "-2d6", "99999d6", "2d6+"} {
		if got, err := roll(wish); err == nil {
			t.Errorf("%q gives %q", wish, got)
		}
	}
}

func TestRollIsFair(t *testing.T) {
	seen := make(map[string]bool)
	for range 400 {
		got, err := roll("d4")
		if err != nil {
			t.Fatal(err)
		}
		seen[got] = true
	}
	if len(seen) != 4 {
		t.Errorf("400 rolls of d4 gave the %d results %v", len(seen), seen)
	}
}

func TestFindZone(t *testing.T) {
	for place, want := range map[string]string{
		"Berlin":                      "Europe/Berlin",
		"europe/berlin":               "Europe/Berlin",
		"  new   york ":               "America/New_York",
		"NEW_YORK":                    "America/New_York",
		"buenos aires":                "America/Buenos_Aires",
		"Ushuaia":                     "America/Argentina/Ushuaia",
		"tokyo":                       "Asia/Tokyo",
		"port of spain":               "America/Port_of_Spain",
		"port-au-prince":              "America/Port-au-Prince",
		"dar es salaam":               "Africa/Dar_es_Salaam",
		"isle of man":                 "Europe/Isle_of_Man",
		"los angeles":                 "America/Los_Angeles",
		"mauritius":                   "Indian/Mauritius",
		"reykjavik":                   "Atlantic/Reykjavik",
		"honolulu":                    "Pacific/Honolulu",
		"sydney":                      "Australia/Sydney",
		"utc":                         "UTC",
		"gmt+3":                       "Etc/GMT+3",
		"san francisco":               "America/Los_Angeles",
		"america/north_dakota/center": "America/North_Dakota/Center",
	} {
		zone, ok := findZone(place)
		if !ok || zone.String() != want {
			t.Errorf("%q is in %v, want %s", place, zone, want)
		}
	}
	for _, place := range []string{"", "local", "Atlantis", "../../etc/passwd", "/etc/localtime", "Europe", "Europe/", "Berlin\x00", "zone.tab", "a\\b"} {
		if zone, ok := findZone(place); ok {
			t.Errorf("%q is in %s", place, zone)
		}
	}
}

func TestTellTime(t *testing.T) {
	now := time.Date(2026, 7, 1, 22, 30, 0, 0, time.UTC)
	got, err := tellTime("kathmandu", now)
	if want := "In Asia/Kathmandu it is 04:15 on Thursday, 2 July 2026 (+0545, UTC+05:45)."; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := tellTime("Atlantis", now); err == nil || !strings.Contains(err.Error(), "IANA") {
		t.Errorf("an unknown place gives %v, want a hint", err)
	}
}
