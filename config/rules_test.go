package config_test

import (
	"strings"
	"testing"
	"time"
)

// TestRulesInWords has each rule broken once; what is wrong and what would be right are told in words.
func TestRulesInWords(t *testing.T) {
	type rules struct {
		Text     string            `json:"text" validate:"min=3"`
		Secret   secret            `json:"secret" validate:"max=3"`
		Exact    string            `json:"exact" validate:"len=2"`
		Entries  []string          `json:"entries" validate:"min=1,dive,max=2"`
		Few      map[string]int    `json:"few" validate:"max=1,dive,lt=3"`
		Over     float64           `json:"over" validate:"gt=1.5"`
		Under    uint8             `json:"under" validate:"lt=10"`
		Wait     time.Duration     `json:"wait" validate:"lte=1m"`
		Not      string            `json:"not" validate:"ne=x"`
		Bool     *bool             `json:"bool" validate:"required"`
		Host     string            `json:"host" validate:"hostname_port"`
		Begins   string            `json:"begins" validate:"startswith=/"`
		Without  map[string]string `json:"without" validate:"dive,keys,excludes==,endkeys"`
		Other    string            `json:"other" validate:"isbn"`
		APIKey   string            `json:"api_key"`
		UseKey   string            `json:"use_key" validate:"excluded_with=APIKey"`
		NeedsKey string            `json:"needs_key" validate:"required_without=MissingKey"`
		Object   struct {
			A int `json:"a" validate:"eq=1"`
		} `json:"object" validate:"required"`
		MissingKey string `json:"missing_key"`
	}
	s := section(t, strings.ReplaceAll(`
"text": "topsecret"[:2],
"secret": "topsecret",
"exact": "",
"entries": ["topsecret"],
"few": {"a": 1, "b": 5},
"over": 1.5,
"under": 10,
"wait": "61s",
"not": "x",
"host": "topsecret",
"begins": "topsecret",
"without": {"a=b": "topsecret"},
"other": "topsecret",
"api_key": "topsecret",
"use_key": "topsecret",
"object": {"a": 2}`, `"topsecret"[:2]`, `"to"`))
	err := s.Decode(&rules{})
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	want := strings.TrimPrefix(`
c:1:18: models.m.bool: is missing (must be true or false)
c:1:18: models.m.needs_key: is missing (must be given when missing_key is not)
c:2:9: models.m.text: is not right (must have at least 3 characters)
c:3:11: models.m.secret: is not right (must have at most 3 characters)
c:4:10: models.m.exact: is empty (must have exactly 2 characters)
c:5:13: models.m.entries[0]: is not right (must have at most 2 characters)
c:6:8: models.m.few: is not right (must have at most 1 entries)
c:7:9: models.m.over: is 1.5 (must be more than 1.5)
c:8:10: models.m.under: is 10 (must be less than 10)
c:9:9: models.m.wait: is "61s" (must be at most "1m")
c:10:8: models.m.not: is not right (must not be x)
c:11:9: models.m.host: is not right (must be a host and port like "127.0.0.1:7420")
c:12:11: models.m.begins: is not right (must be text that begins with /)
c:13:20: models.m.without["a=b"]: is not right (must be text without =)
c:14:10: models.m.other: is not right (must satisfy isbn)
c:16:12: models.m.use_key: is given (must be left out when api_key is given)
c:17:17: models.m.object.a: is 2 (must be 1)`, "\n")
	if err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestOneFaultForAField: what could not be read breaks no rule, nor does what it holds.
func TestOneFaultForAField(t *testing.T) {
	var into struct {
		Name  string `json:"name" validate:"required"`
		Inner struct {
			Name string `json:"name" validate:"required"`
		} `json:"inner"`
		List []struct {
			Name string `json:"name" validate:"required"`
		} `json:"list" validate:"min=1,dive"`
	}
	err := section(t, `"name": 1, "inner": [], "list": [1, {}]`).Decode(&into)
	want := strings.TrimPrefix(`
c:1:40: models.m.name: is a number (must be text)
c:1:52: models.m.inner: is a list (must be an object in { })
c:1:65: models.m.list[0]: is a number (must be an object in { })
c:1:68: models.m.list[1].name: is missing (must be text)`, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
