package arch

import "testing"

func TestRepository(t *testing.T) {
	r, err := Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	if r.Module != "dragoman" || len(r.Files) == 0 || r.Texts["go.mod"] == "" {
		t.Fatalf("this is not the repository: module %q, %d Go files", r.Module, len(r.Files))
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, fault := range rule.Check(r) {
				if fault.Warn {
					t.Log(fault)
					continue
				}
				t.Errorf("%v\n\tbecause %s", fault, rule.Why)
			}
		})
	}
}
