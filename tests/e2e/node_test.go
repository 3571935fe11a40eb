package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// nodeModules is where tests/run puts the packages of tests/package-lock.json.
func nodeModules() string {
	dir, err := filepath.Abs("../node_modules")
	if err != nil {
		panic(err) // the working folder is gone
	}
	return dir
}

// node is the path of the Node that the lock file pins.
func node(t testing.TB) string {
	t.Helper()
	return installed(t, filepath.Join(nodeModules(), ".bin", "node"))
}

// nodePackage is the path of a file in an npm package.
func nodePackage(t testing.TB, elem ...string) string {
	t.Helper()
	return installed(t, filepath.Join(append([]string{nodeModules()}, elem...)...))
}

// pathWithNode is PATH with the pinned Node, and the servers beside it, in front.
func pathWithNode() string {
	return filepath.Join(nodeModules(), ".bin") + string(os.PathListSeparator) + os.Getenv("PATH")
}

// installed skips the test if a file is missing, and fails it where nothing may
// be left out.
func installed(t testing.TB, file string) string {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: tests/run installs it", err)
		}
		t.Skipf("LEFT OUT: %v: tests/run installs it", err)
	}
	return file
}
