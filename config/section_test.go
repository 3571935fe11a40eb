package config_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/config"
)

func section(t *testing.T, text string) config.Section {
	t.Helper()
	cfg, err := config.Parse("c", []byte(`{"models": {"m": {"type": "x", `+text+`}}}`), "/srv", environment)
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Models["m"].Section
}

func TestWith(t *testing.T) {
	type into struct {
		Timeout time.Duration `json:"timeout" default:"1s"`
		Name    *string       `json:"name"`
		Secret  secret        `json:"secret"`
	}
	absent := section(t, ``)
	var got into
	if err := absent.With("timeout", time.Minute).With("name", "n").With("secret", "s").With("other", 1).Decode(&got); err != nil {
		t.Fatal(err)
	}
	name := "n"
	equal(t, "absent keys", got, into{Timeout: time.Minute, Name: &name, Secret: "s"})

	got = into{}
	if err := absent.Decode(&got); err != nil {
		t.Fatal(err)
	}
	equal(t, "With must not change its section", got, into{Timeout: time.Second})

	got = into{}
	if err := section(t, `"timeout": "2s"`).With("timeout", time.Minute).Decode(&got); err != nil {
		t.Fatal(err)
	}
	equal(t, "the file is stronger", got.Timeout, 2*time.Second)
}

func TestZeroSection(t *testing.T) {
	var got struct {
		A int    `json:"a" default:"3"`
		B string `json:"b" validate:"required"`
	}
	err := config.Section{}.Decode(&got)
	if err == nil || err.Error() != "config:1:1: b: is missing (must be text)" {
		t.Errorf("got %v", err)
	}
	equal(t, "default", got.A, 3)
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	var got struct {
		A string `json:"a" format:"path"`
		B string `json:"b" format:"path"`
		C string `json:"c" format:"path"`
		D string `json:"d" format:"path" default:"x/y"`
	}
	if err := section(t, `"a": "../z", "b": "/abs", "c": ""`).Decode(&got); err != nil {
		t.Fatal(err)
	}
	equal(t, "paths", []string{got.A, got.B, got.C, got.D}, []string{"/z", "/abs", "", "/srv/x/y"})
}

func TestNestedStructsAndSections(t *testing.T) {
	var got struct {
		Limits struct {
			N int `json:"n" default:"5"`
		} `json:"limits"`
		Plugin config.Section       `json:"plugin"`
		Absent config.Section       `json:"absent"`
		Many   []map[string][]bool  `json:"many"`
		Opt    *struct{ X float64 } `json:"opt"`
		Null   *int                 `json:"null"`
		Untagged
	}
	s := section(t, `"plugin": {"k": 1}, "many": [{"a": [true, false]}], "opt": {"X": 1e2}, "null": null, "Flag": true`)
	if err := s.Decode(&got); err != nil {
		t.Fatal(err)
	}
	equal(t, "default in an absent object", got.Limits.N, 5)
	equal(t, "lists and maps", got.Many, []map[string][]bool{{"a": {true, false}}})
	equal(t, "pointer", got.Opt.X, 100.0)
	equal(t, "embedded, no tags", got.Flag, true)
	var plugin struct {
		K int `json:"k"`
	}
	if err := config.Join(got.Plugin.Decode(&plugin), got.Absent.Decode(&struct{}{})); err != nil {
		t.Fatal(err)
	}
	equal(t, "section in a section", plugin.K, 1)
	if err := got.Plugin.Decode(&struct{}{}); err == nil || err.Error() != "c:1:43: models.m.plugin.k: is not a known key (nothing is allowed here)" {
		t.Errorf("got %v", err)
	}
}

func TestAlias(t *testing.T) {
	type into struct {
		Kind string            `json:"kind" alias:"type_of"`
		Env  map[string]string `json:"env" alias:"environment"`
	}
	var got into
	if err := section(t, `"type_of": "a", "env": {"A": "1"}, "environment": {"B": "2"}`).Decode(&got); err != nil {
		t.Fatal(err)
	}
	equal(t, "either name", got, into{Kind: "a", Env: map[string]string{"A": "1", "B": "2"}})
	err := section(t, `"kind": "a", "type_of": "b", "env": {"A": "1"}, "environment": {"A": "2"}`).Decode(&got)
	want := "c:1:45: models.m.type_of: is another name of \"kind\", which is given on line 1 (keep one)\n" +
		"c:1:96: models.m.environment.A: is given under \"env\" too, on line 1 (keep one)"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// Untagged has a field whose key is its name.
type Untagged struct{ Flag bool }

func TestSectionFaults(t *testing.T) {
	s := section(t, `"a": 1, "word": "on", "n": 2, "var": "${STORE}", "none": ""`)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{s.Fault("a", "is odd"), "c:1:37: models.m.a: is odd"},
		{s.Fault("type", "is odd"), "c:1:27: models.m.type: is odd"},
		{s.Fault("b", "is missing"), "c:1:18: models.m.b: is missing"},
		{s.Fault("", "100% bad"), "c:1:13: models.m: 100% bad"},
		{s.OneOf("word", "up", "down"), `c:1:48: models.m.word: is "on" (must be one of down, up)`},
		{s.OneOf("word", "up"), `c:1:48: models.m.word: is "on" (must be up)`},
		{s.OneOf("n", "up"), "c:1:59: models.m.n: is a number (must be text)"},
		{s.OneOf("var", "up"), "c:1:69: models.m.var: is the value of ${STORE} (must be up)"},
		{s.OneOf("none", "up"), "c:1:89: models.m.none: is empty (must be text)"},
		{s.OneOf("gone", "up"), "c:1:18: models.m.gone: is missing (must be text)"},
	} {
		if tt.err == nil || tt.err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", tt.err, tt.want)
		}
	}
	if err := s.OneOf("word", "off", "on"); err != nil {
		t.Errorf("a known word is refused: %v", err)
	}
}

// TestSectionOfABrokenEntry: what could not be read must not decode as empty.
func TestSectionOfABrokenEntry(t *testing.T) {
	cfg, err := config.Parse("c", []byte(`{"models": {"m": 1, "n": {"type": "demo", "key": "${UNSET}"}}}`), "", nil)
	if err == nil || cfg == nil {
		t.Fatalf("got %v, %v", cfg, err)
	}
	var into struct {
		Key string `json:"key"`
	}
	for name, m := range cfg.Models {
		sectionErr := m.Decode(&into)
		if sectionErr == nil {
			t.Errorf("the section %s decodes without its fault", name)
			continue
		}
		equal(t, "its fault is one that is known", config.Join(err, sectionErr).Error(), err.Error())
	}
}

func TestMistakesInTheProgramPanic(t *testing.T) {
	s := section(t, `"a": "x"`)
	for name, call := range map[string]func(){
		"not a pointer": func() { _ = s.Decode(struct{}{}) },
		"nil":           func() { _ = s.Decode((*serverConfig)(nil)) },
		"no struct":     func() { _ = s.Decode(new(int)) },
		"a channel": func() {
			_ = s.Decode(&struct {
				A chan int `json:"a"`
			}{})
		},
		"default of another type": func() {
			_ = s.Decode(&struct {
				A string
				B int `default:"x"`
			}{})
		},
		"default list that is none": func() {
			_ = s.Decode(&struct {
				B []int `default:"[\"x\"]"`
			}{})
		},
		"With of another type": func() {
			_ = s.With("b", "x").Decode(&struct {
				B int `json:"b"`
			}{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if message, _ := recover().(string); !strings.HasPrefix(message, "config: ") {
					t.Errorf("it must panic in words, not %q", message)
				}
			}()
			call()
		})
	}
}

func TestSectionsDecodeSideBySide(t *testing.T) {
	s := section(t, `"mode": "webhook", "token": "t", "secret": "s"`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var got channelConfig
			if err := s.With("key", "a").Decode(&got); err != nil || got.Key != "a" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	wg.Wait()
}
