package control

import (
	"fmt"
	"os"
	"path/filepath"
)

// pathMax is how long the path of a Unix socket may be (sun_path, with its NUL).
const pathMax = 107

// shorten gives a path for the socket that fits sun_path: where the real one is
// too long, by way of an open descriptor of its folder. done closes that.
func shorten(path string) (short string, done func(), err error) {
	if len(path) <= pathMax {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}
