package cpuledger

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// frames reads all that is left of a recording.
func frames(t testing.TB, path string) []any {
	t.Helper()
	all := []any{}
	for interval, err := range Read(path, time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, any(told(t, interval.Frame)))
	}
	return all
}

func expectedOf(t testing.TB, name string) []any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(read(t, "segments", name+".json"))))
	decoder.UseNumber()
	expected := []any{}
	if err := decoder.Decode(&expected); err != nil {
		t.Fatal(err)
	}
	return expected
}

func TestSegmentsAreReadAsTheVectorsSay(t *testing.T) {
	for _, name := range vectorsOf(t, "segments", ".seg", 5) {
		t.Run(name, func(t *testing.T) {
			found, expected := frames(t, filepath.Join(vectors, "segments", name+".seg")), expectedOf(t, name)
			if len(found) != len(expected) {
				t.Fatalf("%d frames, and not %d", len(found), len(expected))
			}
			for number := range found {
				if !reflect.DeepEqual(found[number], expected[number]) {
					t.Fatalf("frame %d is\n%v\nand not\n%v", number, found[number], expected[number])
				}
			}
		})
	}
}

// recorded is a folder with a tier of a segment.
func recorded(t testing.TB, name, tier string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, tier), 0o700); err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(folder, tier, "0000000000000000.open")
	if err := os.WriteFile(place, read(t, "segments", name+".seg"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestARecordingIsReadBetweenTimes(t *testing.T) {
	folder := recorded(t, "open", "all")
	var ends []uint64
	for interval, err := range Read(folder, time.Time{}, time.Time{}) {
		if err != nil || interval.MissingNs != 0 {
			t.Fatal(interval, err)
		}
		ends = append(ends, interval.Figures().EndRealtimeNs().Or(0))
	}
	if len(ends) < 20 || len(frames(t, filepath.Join(folder, "all"))) != len(ends) {
		t.Fatalf("%d intervals", len(ends))
	}
	// Intervals 7 to 11: some of it is in the last one, and the one before ends at the first instant.
	since, until := time.Unix(0, int64(ends[6])), time.Unix(0, int64(ends[10])+1)
	var found []uint64
	for interval, err := range Read(folder, since, until) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, interval.Figures().EndRealtimeNs().Or(0))
	}
	if !reflect.DeepEqual(found, ends[7:12]) {
		t.Fatalf("%v, and not %v", found, ends[7:12])
	}
	for range Read(folder, since, until) {
		break
	}
	if coarse := recorded(t, "open", "1m"); len(frames(t, coarse)) != len(ends) {
		t.Fatal("a tier is read where there is no finer one")
	}
}

func TestWhatIsDamagedIsToldAsMissing(t *testing.T) {
	gaps := 0
	for interval, err := range Read(recorded(t, "lost-record", "all"), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if interval.MissingNs > 0 {
			gaps++
		}
	}
	if gaps != 1 {
		t.Fatalf("%d gaps", gaps)
	}
}

func TestWhatIsNoRecordingIsAnError(t *testing.T) {
	for _, path := range []string{"/no/such/path", t.TempDir()} {
		for _, err := range Read(path, time.Time{}, time.Time{}) {
			if err == nil || !errors.Is(err, ErrNoRecording) && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
}

// Bytes of any kind are a segment, if perhaps one without records.
func FuzzRead(f *testing.F) {
	for _, name := range vectorsOf(f, "segments", ".seg", 5) {
		f.Add(read(f, "segments", name+".seg"))
	}
	path := filepath.Join(f.TempDir(), "segment")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for interval, err := range Read(path, time.Time{}, time.Time{}) {
			if err == nil {
				told(t, interval.Frame)
			}
		}
	})
}

// Links whose bytes are any: a checksum does not keep these from the chain.
func TestAnyLinkIsSurvived(t *testing.T) {
	var plains, denses [][]byte
	content := read(t, "segments", "open.seg")
	s := new(segmentReader)
	defer s.close()
	for offset := segmentHeaderBytes; offset < len(content); {
		one := recordOf(content[offset:offset+recordBytes], uint64(offset))
		packed := content[offset+recordBytes:][:one.length]
		plain, err := s.unpack(packed[:one.compressed], uint64(one.plain))
		if err != nil {
			t.Fatal(err)
		}
		plains, denses = append(plains, plain), append(denses, packed[one.compressed:])
		offset += recordBytes + int(one.length)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		c := new(chain)
		for number := range 3 {
			plain := append([]byte(nil), plains[number]...)
			dense := append([]byte(nil), denses[number]...)
			for range random.IntN(4) {
				plain[random.IntN(len(plain))] = byte(random.Uint32())
				if len(dense) > 0 {
					dense[random.IntN(len(dense))] ^= 1 << random.IntN(8)
				}
			}
			frame, err := c.read(plain[:len(plain)-random.IntN(2)], dense, 10_000)
			if err != nil {
				break
			}
			told(t, frame)
		}
	}
}
