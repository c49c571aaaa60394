// standalone FOLDER: unpack the python-build-standalone interpreter that the Go module carries. Which one is the
// module's version, chosen by tests/tools/setup-interpreters in the go.mod it writes.
package main

import (
	"fmt"
	"os"

	"github.com/kluctl/go-embed-python/python"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: standalone FOLDER")
		os.Exit(64)
	}
	if _, err := python.NewEmbeddedPythonWithTmpDir(os.Args[1], false); err != nil {
		fmt.Fprintln(os.Stderr, "standalone:", err)
		os.Exit(1)
	}
}
