// Reads a dashboard as Grafana's own library has it, and prints what is wrong with it: fields that the schema does not know, that are missing, or
// that have another type.
//
//	go run . ../cpuledger.json
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func check(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var read dashboard.Dashboard
	err = errors.Join(anyOf(read.UnmarshalJSONStrict(text)), anyOf(read.Validate()))
	return len(read.Panels), err
}

// anyOf returns an error only if there is one: the library also returns an empty list of errors.
func anyOf(err error) error {
	var errs cog.BuildErrors
	if errors.As(err, &errs) && len(errs) == 0 {
		return nil
	}
	return err
}

func main() {
	// The options of each kind of panel.
	plugins.RegisterDefaultPlugins()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . DASHBOARD.json")
		os.Exit(2)
	}
	panels, err := check(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(panels, "panels")
}
