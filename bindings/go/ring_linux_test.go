package cpuledger

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// sealed is memory with these bytes, as an owner hands it out.
func sealed(t testing.TB, content []byte, seals uintptr) *os.File {
	t.Helper()
	name := []byte("test\x00")
	const allowSealing = 2
	fd, _, errno := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(&name[0])), allowSealing, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	file := os.NewFile(fd, "memfd")
	t.Cleanup(func() { _ = file.Close() })
	if _, err := file.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	const fAddSeals = 1033
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, fAddSeals, seals); errno != 0 {
		t.Fatal(errno)
	}
	return file
}

func opened(t testing.TB, content []byte) (*ring, error) {
	t.Helper()
	r, err := openRing(int(sealed(t, content, ringSeals).Fd()))
	if err == nil {
		t.Cleanup(r.close)
	}
	return r, err
}

// nameOf is what the vectors call a frame.
func nameOf(t testing.TB, frame []byte) any {
	t.Helper()
	for _, name := range vectorsOf(t, "frames", ".frame", 50) {
		if bytes.Equal(read(t, "frames", name+".frame"), frame) {
			return name
		}
	}
	return map[string]any{"hex": hex.EncodeToString(frame)}
}

func found(t testing.TB, content []byte) map[string]any {
	t.Helper()
	r, err := opened(t, content)
	switch {
	case errors.Is(err, errRingEnded):
		return map[string]any{"open": "ended"}
	case err != nil && strings.Contains(err.Error(), "layout"):
		return map[string]any{"open": "other layout"}
	case err != nil:
		return map[string]any{"open": "no ring"}
	}
	found := map[string]any{
		"open": "ring", "frames": number(t, r.frames), "bytes": number(t, r.dataWords*wordBytes), "next": number(t, r.next),
	}
	switch frame, sequence, err := r.last(); {
	case err != nil:
		found["last"] = "damaged"
	case sequence == 0:
		found["last"] = nil
	default:
		found["last"] = map[string]any{"number": number(t, sequence), "frame": nameOf(t, frame)}
	}
	r.next = 1
	reads := []any{}
	for {
		frame, missed, err := r.take()
		if err == nil && frame == nil {
			break
		}
		one := map[string]any{"number": number(t, r.next-1)}
		if err != nil {
			one["frame"] = "damaged"
		} else {
			one["frame"], one["missed"] = nameOf(t, frame), number(t, missed)
		}
		reads = append(reads, one)
	}
	found["from_1"] = reads
	outcome, err := r.wait(0)
	if err != nil {
		t.Fatal(err)
	}
	found["then"] = map[waitOutcome]any{waitFrame: "not there yet", waitTimedOut: "waits", waitMoved: "moved"}[outcome]
	return found
}

func TestRingsAreReadAsTheVectorsSay(t *testing.T) {
	for _, name := range vectorsOf(t, "rings", ".ring", 10) {
		t.Run(name, func(t *testing.T) {
			expected := parsed(t, read(t, "rings", name+".json"))
			if found := found(t, read(t, "rings", name+".ring")); !reflect.DeepEqual(found, expected) {
				told, _ := json.MarshalIndent(found, "", " ")
				t.Fatalf("it is %s", told)
			}
		})
	}
}

func TestMemoryThatCanChangeIsRefused(t *testing.T) {
	content := read(t, "rings", "few.ring")
	for _, seals := range []uintptr{0, 1, 3, 5, 6} {
		if _, err := openRing(int(sealed(t, content, seals).Fd())); !errors.Is(err, errNoRing) {
			t.Fatalf("seals %d: %v", seals, err)
		}
	}
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if _, err := openRing(int(program.Fd())); !errors.Is(err, errNoRing) {
		t.Fatal(err)
	}
}

// Each byte of the header and the directory may have any value: a reader answers, and in bounded time.
func TestAnyRingIsSurvived(t *testing.T) {
	content := read(t, "rings", "overwritten.ring")
	for at := range directoryByte + 4*ringEntryBytes {
		for _, value := range []byte{0, 1, 0x80, 0xff} {
			changed := append([]byte(nil), content...)
			changed[at] = value
			r, err := opened(t, changed)
			if err != nil {
				continue
			}
			r.next = 1
			for range 10 {
				_, _, _ = r.take()
			}
			_, _, _ = r.last()
			if _, err := r.wait(0); err != nil {
				t.Fatal(err)
			}
			r.close()
		}
	}
}

// A writer in this process publishes while a reader waits: each frame comes whole and in order, or is missed.
func TestFramesComeWholeWhileOthersAreWritten(t *testing.T) {
	const frames = 5000
	file := sealed(t, read(t, "rings", "empty.ring"), ringSeals)
	memory, err := syscall.Mmap(int(file.Fd()), 0, 2816, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(memory) }()
	r, err := openRing(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	go publish(memory, frames)
	last, missed := uint64(0), uint64(0)
	for last < frames {
		outcome, err := r.wait(10 * time.Second)
		if err != nil || outcome != waitFrame {
			t.Fatalf("frame %d: %v %v", last, outcome, err)
		}
		frame, more, err := r.take()
		if err != nil {
			t.Fatal(err)
		}
		if frame == nil {
			continue
		}
		last, missed = last+1+more, missed+more
		if len(frame) != lengthOf(last) || strings.Trim(string(frame), string(frame[:1])) != "" || frame[0] != byte(last) {
			t.Fatalf("frame %d of %d bytes is torn", last, len(frame))
		}
	}
	if missed >= frames-10 {
		t.Fatalf("%d frames were missed", missed)
	}
}

func lengthOf(number uint64) int { return int(1 + number*7919%1000) }

// publish does what the owner of a ring does, by the document.
func publish(memory []byte, frames uint64) {
	store := func(at, value uint64) { atomic.StoreUint64((*uint64)(unsafe.Pointer(&memory[at])), value) }
	entry := func(number uint64) uint64 { return directoryByte + number%4*ringEntryBytes }
	const data, words = directoryByte + 4*ringEntryBytes, 256
	type whole struct{ number, begin uint64 }
	var held []whole
	head := uint64(0)
	for number := uint64(1); number <= frames; number++ {
		length := uint64(lengthOf(number))
		end := head + (length+7)/8
		for len(held) > 0 && (held[0].number+4 <= number || held[0].begin+words < end) {
			store(entry(held[0].number), 2*held[0].number+1)
			held = held[1:]
		}
		for word := head; word < end; word++ {
			store(data+word%words*8, 0x0101010101010101*uint64(byte(number)))
		}
		store(entry(number)+positionAt, head)
		store(entry(number)+lengthAt, length)
		store(entry(number)+lockAt, 2*number)
		store(latestByte, number)
		before := uint32(2 * (number - 1))
		atomic.StoreUint32((*uint32)(unsafe.Pointer(&memory[stateByte])), before+2)
		futex := (*uint32)(unsafe.Pointer(&memory[waitByte+uint64(before/2%2)*8]))
		atomic.StoreUint32(futex, before+2)
		_, _, _ = syscall.Syscall(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(futex)), futexWake, 2)
		held = append(held, whole{number, head})
		head = end
		if number%16 == 0 {
			time.Sleep(50 * time.Microsecond)
		}
	}
}
