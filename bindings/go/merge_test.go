package cpuledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestAccountsAreMergedAsTheVectorsSay(t *testing.T) {
	expected := parsed(t, read(t, "merged", "accounts.json"))
	var frames [2]*Frame
	for number, name := range []string{"accounts.frame", "accounts-next.frame"} {
		var err error
		if frames[number], err = Decode(read(t, "frames", name)); err != nil {
			t.Fatal(err)
		}
	}
	merged, err := frames[0].Merge(frames[1])
	if err != nil {
		t.Fatal(err)
	}
	if found := told(t, merged); !reflect.DeepEqual(found, expected) {
		t.Fatalf("it is\n%v\nand not\n%v", found, expected)
	}
	if merged.Disks().Len() <= mostDisks || merged.Pairs().Len() == 0 {
		t.Fatal("the limit of disks was not met")
	}
}

func TestNeighboursAreMergedAsTheVectorsSay(t *testing.T) {
	decoder := json.NewDecoder(strings.NewReader(string(read(t, "merged", "machine.json"))))
	decoder.UseNumber()
	var expected []any
	if err := decoder.Decode(&expected); err != nil {
		t.Fatal(err)
	}
	var all []*Frame
	for number := range 8 {
		frame, err := Decode(read(t, "frames", fmt.Sprintf("machine-%d.frame", number)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, frame)
	}
	whole := all[0]
	var merged []*Frame
	for number, next := range all[1:] {
		two, err := all[number].Merge(next)
		if err != nil {
			t.Fatal(err)
		}
		merged = append(merged, two)
		if whole, err = whole.Merge(next); err != nil {
			t.Fatal(err)
		}
	}
	merged = append(merged, whole)
	if len(merged) != len(expected) {
		t.Fatalf("%d merges, and not %d", len(merged), len(expected))
	}
	for number, frame := range merged {
		if found := told(t, frame); !reflect.DeepEqual(any(found), expected[number]) {
			t.Fatalf("merge %d is\n%v\nand not\n%v", number, found, expected[number])
		}
	}
	// In another grouping it is the same.
	first, err := all[1].Merge(all[2])
	if err != nil {
		t.Fatal(err)
	}
	if first, err = all[0].Merge(first); err != nil {
		t.Fatal(err)
	}
	second, err := merged[0].Merge(all[2])
	if err != nil || !reflect.DeepEqual(told(t, first), told(t, second)) {
		t.Fatal("the order of merges counts", err)
	}
	for _, other := range []*Frame{all[0], all[2]} {
		if _, err := all[0].Merge(other); !errors.Is(err, ErrNotMerged) {
			t.Fatal(err)
		}
	}
}
