package arch

import "fmt"

// Rule is something that holds for the whole repository.
type Rule struct {
	Name, Why string
	Check     func(r *Repo) []Fault
}

// Fault is a place that breaks a rule.
type Fault struct {
	Where string // path or path:line, from the root
	What  string
	Warn  bool // worth a look, no failure
}

// String is "where: what".
func (f Fault) String() string { return f.Where + ": " + f.What }

// Rules lists all rules.
func Rules() []Rule {
	return []Rule{
		{
			Name:  "rooms",
			Why:   "a package that stands in no known room has no floor, so nothing would hold it back",
			Check: checkRooms,
		},
		{
			Name:  "floors",
			Why:   "the core knows ports alone and adapters know no one: that is what makes either replaceable",
			Check: checkFloors,
		},
		{
			Name:  "test-floors",
			Why:   "tests may reach for kits and fakes, but an adapter that is tested with the core leans on it",
			Check: checkTestFloors,
		},
		{
			Name:  "libraries",
			Why:   "whoever implements ports must need nothing but Go; the core must need no platform",
			Check: checkLibraries,
		},
		{
			Name:  "sdk-owners",
			Why:   "an SDK that only its adapter knows can be replaced in one folder",
			Check: checkSDKOwners,
		},
		{
			Name:  "package-names",
			Why:   "a package named after nothing collects everything",
			Check: checkPackageNames,
		},
		{
			Name:  "no-init",
			Why:   "what happens at import happens to everybody, in an order nobody wrote: wire.go is the registry",
			Check: checkNoInit,
		},
		{
			Name:  "no-background",
			Why:   "a context from nowhere outlives the stop and has no deadline",
			Check: checkNoBackground,
		},
		{
			Name:  "no-sleep",
			Why:   "a test that sleeps is slow when it passes and flaky when it fails: use a synctest bubble, or poll with a deadline",
			Check: checkNoSleep,
		},
		{
			Name:  "file-size",
			Why:   "a file holds one idea",
			Check: checkFileSize,
		},
		{
			Name:  "port-kind",
			Why:   "an adapter says by a guard what it implements; without one nothing asks it for a conformance test",
			Check: checkPortKind,
		},
		{
			Name:  "conformance",
			Why:   "a port's comments are promises, and the kit is what holds an adapter to them",
			Check: checkConformance,
		},
		{
			Name:  "wired",
			Why:   "an adapter that no line of the command names is dead",
			Check: checkWired,
		},
		{
			Name:  "registry-hosts",
			Why:   "where packages come from is the business of the machine that builds, not of the repository",
			Check: checkRegistryHosts,
		},
	}
}

// at makes a fault at a line of a file.
func at(f *File, line int, format string, args ...any) Fault {
	return Fault{Where: fmt.Sprintf("%s:%d", f.Path, line), What: fmt.Sprintf(format, args...)}
}
