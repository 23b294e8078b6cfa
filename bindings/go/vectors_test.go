package cpuledger

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// vectors is the folder of the test vectors that all clients share.
const vectors = "../../tests/vectors"

// vectorsOf returns the names of the vectors of a kind.
func vectorsOf(t testing.TB, folder, ending string, least int) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(vectors, folder, "*"+ending))
	if err != nil || len(paths) < least {
		t.Fatalf("%d vectors in %s: %v", len(paths), folder, err)
	}
	names := make([]string, len(paths))
	for index, path := range paths {
		names[index] = strings.TrimSuffix(filepath.Base(path), ending)
	}
	return names
}

func read(t testing.TB, parts ...string) []byte {
	t.Helper()
	bytes, err := os.ReadFile(filepath.Join(append([]string{vectors}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// parsed reads JSON whose numbers have 64 bits.
func parsed(t testing.TB, bytes []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(bytes)))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatal(err)
	}
	return object
}

// told is what the vectors say of a frame. It goes past what the methods of rows make of hidden tasks.
func told(t testing.TB, frame *Frame) map[string]any {
	t.Helper()
	sections := map[string]any{}
	for id := sectionInterval; id <= lastSection; id++ {
		var rows []any
		for row := range frame.rows(id).All() {
			values := map[string]any{}
			for _, field := range Fields() {
				raw := row.table.raw(field, row.index)
				if raw == absent {
					continue
				}
				switch field.Kind() {
				case Text:
					values[field.Name()] = toldText(row.Text(field).Or("?"))
				case Signed:
					values[field.Name()] = number(t, int64(raw^sign))
				default:
					values[field.Name()] = number(t, raw)
				}
			}
			rows = append(rows, values)
		}
		if rows != nil {
			sections[sectionNames[id]] = rows
		}
	}
	return sections
}

func toldText(text string) any {
	if strings.ToValidUTF8(text, "") != text {
		return map[string]any{"hex": hex.EncodeToString([]byte(text))}
	}
	return text
}

func number(t testing.TB, value any) json.Number {
	t.Helper()
	digits, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return json.Number(digits)
}

func TestFramesDecodeAsTheVectorsSay(t *testing.T) {
	for _, name := range vectorsOf(t, "frames", ".frame", 50) {
		t.Run(name, func(t *testing.T) {
			expected := parsed(t, read(t, "frames", name+".json"))
			frame, err := Decode(read(t, "frames", name+".frame"))
			switch expected["error"] {
			case nil:
				if err != nil {
					t.Fatal(err)
				}
				if found := told(t, frame); !reflect.DeepEqual(found, expected) {
					t.Fatalf("it is\n%v\nand not\n%v", found, expected)
				}
			case "too new":
				if !errors.Is(err, ErrTooNew) {
					t.Fatal(err)
				}
			default:
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("%v, and not %v", err, expected["because"])
				}
			}
		})
	}
}

// Each prefix of a frame, and each with a changed byte, is a frame or an error. Of long frames it is some of them.
func TestAnyBytesAreAFrameOrAnError(t *testing.T) {
	for _, name := range vectorsOf(t, "frames", ".frame", 50) {
		bytes := read(t, "frames", name+".frame")
		_, err := Decode(bytes)
		for at := 0; at < len(bytes); at += 1 + len(bytes)/400 {
			if _, cut := Decode(bytes[:at]); err == nil && cut == nil {
				t.Fatalf("%s: %d bytes of it are a frame", name, at)
			}
			for _, other := range []byte{0, 1, 0x7f, 0x80, 0xff} {
				changed := append([]byte(nil), bytes...)
				changed[at] = other
				if frame, err := Decode(changed); err == nil {
					told(t, frame)
				}
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range vectorsOf(f, "frames", ".frame", 50) {
		f.Add(read(f, "frames", name+".frame"))
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		taken := allocated(func() {
			if frame, err := Decode(bytes); err == nil {
				frame.Figures().StartNs()
			}
		})
		// Tables have places for fields, and a sentence some memory, whatever the length.
		if most := uint64(300*len(bytes) + 64<<10); taken > most {
			t.Fatalf("%d bytes take %d bytes of memory, more than %d", len(bytes), taken, most)
		}
		if frame, err := Decode(bytes); err == nil {
			told(t, frame)
		}
	})
}

// What many rows may cost: each field is told as a difference without bytes of its own.
func TestMemoryFollowsTheLength(t *testing.T) {
	for _, rows := range []uint32{1, 1000, 100_000} {
		bytes := manyDifferences(rows)
		var err error
		taken := allocated(func() { _, err = Decode(bytes) })
		if err != nil {
			t.Fatal(err)
		}
		if factor := taken / uint64(len(bytes)); factor > 300 {
			t.Fatalf("%d rows take %d times their bytes", rows, factor)
		}
	}
}

func TestUnknownIsNotZero(t *testing.T) {
	frame, err := Decode(read(t, "frames", "interval.frame"))
	if err != nil {
		t.Fatal(err)
	}
	hidden := frame.Processes().At(2)
	if cpu := hidden.CPUNs(); cpu.IsKnown() || cpu.String() != "-" || cpu.Or(7) != 7 {
		t.Fatalf("what a hidden task has used is not known, and not %v", cpu)
	}
	if comm, known := hidden.Comm().Get(); known || comm != "" {
		t.Fatalf("it has no name, and not %q", comm)
	}
	seen := frame.Processes().At(0)
	if ns, known := seen.CPUNs().Get(); !known || ns != 1_000_000_000 || seen.CPUNs().String() != "1000000000" {
		t.Fatalf("%v", seen.CPUNs())
	}
	if seen.Signed(FieldCPUNs).IsKnown() || seen.Text(FieldCPUNs).IsKnown() || seen.Unsigned(FieldComm).IsKnown() {
		t.Fatal("a field has one kind")
	}
	if length := frame.LengthNs(); length != Known[uint64](1_000_000_123) {
		t.Fatalf("%v", length)
	}
}

func TestFieldsHaveNamesAndNumbers(t *testing.T) {
	for _, field := range Fields() {
		found, isThere := FieldByName(field.Name())
		if !isThere || found != field || fieldOfID[field.ID()] != field || field.Help() == "" {
			t.Fatal(field)
		}
	}
	if _, isThere := FieldByName("nothing"); isThere {
		t.Fatal("there is no such field")
	}
}
