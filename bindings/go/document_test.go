package cpuledger

import (
	"os"
	"strings"
	"testing"
)

// The example of docs/go.md is the program that is compiled with these tests.
func TestTheDocumentHasTheExample(t *testing.T) {
	program, err := os.ReadFile("example/main.go")
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("../../docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "\n")
	if !strings.Contains(string(document), "```go\n"+code+"```\n") {
		t.Fatal("docs/go.md has another example than example/main.go")
	}
	if lines := strings.Count(code, "\n"); lines > 35 {
		t.Fatalf("the example has %d lines: a reader has seen enough after 30", lines)
	}
}
