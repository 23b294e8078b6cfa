package cpuledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The places of the ring's words, in bytes, and its limits: docs/protocol.md has the layout.
const (
	ringMagic      = "cpulring"
	ringLayout     = 1
	magicByte      = 0
	layoutByte     = 8
	framesByte     = 16
	dataWordsByte  = 24
	stateByte      = 64
	waitByte       = 72
	latestByte     = 128
	directoryByte  = 512
	ringEntryBytes = 64
	lockAt         = 0
	positionAt     = 8
	lengthAt       = 16
	wordBytes      = 8
	mostFrames     = 4096
	mostDataWords  = 1 << 27
	movedBit       = 1
	oneFrame       = 2
	// passedOn is how many readers each one wakes that was woken.
	passedOn = 2
	// attempts at the last frame, while the owner publishes others.
	attempts = 8
)

// The numbers of the kernel that package syscall does not have.
const (
	fGetSeals        = 1034
	ringSeals        = 0x1 | 0x2 | 0x4 // F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW
	tmpfsMagic       = 0x01021994
	futexWake        = 1
	futexWaitBitset  = 9
	futexAnyBit      = 0xffffffff
	clockMonotonic   = 1
	nanosecondsOfOne = int64(time.Second)
)

var (
	// errRingEnded says that the owner has taken the ring's memory back.
	errRingEnded = errors.New("the ring has ended")
	// errNoRing is wrapped by what is wrong with the memory of the service.
	errNoRing = errors.New("no ring of frames")
)

// ring is a ring of frames, mapped for reading only.
type ring struct {
	memory    []byte
	frames    uint64
	dataWords uint64
	// next is the number of the frame that comes next for this reader.
	next uint64
}

// copied says what became of an attempt to copy a frame.
type copied uint8

const (
	copiedWhole copied = iota
	// copiedGone: it was overwritten, or is not there yet.
	copiedGone
	// copiedDamaged: the entry holds what no owner writes.
	copiedDamaged
)

// openRing maps the ring of a descriptor, which stays open. The next frame is the first that is published from now on.
func openRing(fd int) (*ring, error) {
	length, err := checkRing(fd)
	if err != nil {
		return nil, err
	}
	memory, err := syscall.Mmap(fd, 0, length, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("the ring cannot be mapped: %w", err)
	}
	r := &ring{memory: memory}
	if err := r.header(); err != nil {
		// Its memory may have been taken back while it was looked at.
		if r.hasEnded() {
			err = errRingEnded
		}
		r.close()
		return nil, err
	}
	r.next = behind(r.latest())
	return r, nil
}

// checkRing refuses a file that its owner could still make shorter, which would end this process by SIGBUS. It returns the length.
func checkRing(fd int) (int, error) {
	var system syscall.Statfs_t
	if err := syscall.Fstatfs(fd, &system); err != nil {
		return 0, fmt.Errorf("the ring: fstatfs: %w", err)
	}
	if int64(system.Type) != tmpfsMagic {
		return 0, fmt.Errorf("%w: it is in a file system of type %#x, and not in that of memfd_create(2)", errNoRing, system.Type)
	}
	seals, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), fGetSeals, 0)
	if errno != 0 || seals&ringSeals != ringSeals {
		return 0, fmt.Errorf("%w: its memory is not sealed", errNoRing)
	}
	var file syscall.Stat_t
	if err := syscall.Fstat(fd, &file); err != nil {
		return 0, fmt.Errorf("the ring: fstat: %w", err)
	}
	const most = directoryByte + mostFrames*ringEntryBytes + mostDataWords*wordBytes
	length := file.Size / wordBytes * wordBytes
	if length <= directoryByte || length > most {
		return 0, fmt.Errorf("%w: no ring has %d bytes", errNoRing, file.Size)
	}
	return int(length), nil
}

func (r *ring) close() {
	if r.memory != nil {
		_ = syscall.Munmap(r.memory)
		r.memory = nil
	}
}

// word loads a word, of which other processes change some. The atomic operations of Go are all in one order, so each load sees what was
// stored before what an earlier load has seen.
func (r *ring) word(at uint64) uint64 {
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&r.memory[at : at+wordBytes][0])))
}

func (r *ring) half(at uint64) uint32 {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.memory[at : at+4][0])))
}

func (r *ring) header() error {
	if r.word(magicByte) != binary.NativeEndian.Uint64([]byte(ringMagic)) {
		return fmt.Errorf("%w: it begins with something else", errNoRing)
	}
	if layout := r.word(layoutByte); layout != ringLayout {
		return fmt.Errorf("%w: it has layout %d, and this program knows layout %d: update the older of the two",
			errNoRing, layout, ringLayout)
	}
	r.frames, r.dataWords = r.word(framesByte), r.word(dataWordsByte)
	isPossible := r.frames >= 2 && r.frames <= mostFrames && r.dataWords >= 8 && r.dataWords <= mostDataWords
	if !isPossible || r.data()+r.dataWords*wordBytes != uint64(len(r.memory)) {
		return fmt.Errorf("%w: its sizes contradict its length", errNoRing)
	}
	return nil
}

// data is where the data area begins.
func (r *ring) data() uint64 { return directoryByte + r.frames*ringEntryBytes }

// latest is the number of the last frame; 0: there is none.
func (r *ring) latest() uint64 { return r.word(latestByte) }

func (r *ring) hasEnded() bool { return r.word(magicByte) == 0 }

// hasMoved tells whether no further frame will come in this ring.
func (r *ring) hasMoved() bool { return r.half(stateByte)&movedBit != 0 || r.hasEnded() }

// copyNumber copies the frame of this number: one attempt.
func (r *ring) copyNumber(number uint64) ([]byte, copied) {
	entry := directoryByte + number%r.frames*ringEntryBytes
	open := 2 * number
	if r.word(entry+lockAt) != open {
		return nil, copiedGone
	}
	position, length := r.word(entry+positionAt), r.word(entry+lengthAt)
	isPossible := length <= r.dataWords/2*wordBytes
	var frame []byte
	if isPossible {
		words := (length + wordBytes - 1) / wordBytes
		frame = make([]byte, words*wordBytes)
		for word := range words {
			at := r.data() + (position%r.dataWords+word)%r.dataWords*wordBytes
			binary.NativeEndian.PutUint64(frame[word*wordBytes:], r.word(at))
		}
		frame = frame[:length]
	}
	switch {
	case r.word(entry+lockAt) != open:
		return nil, copiedGone
	case !isPossible:
		return nil, copiedDamaged
	}
	return frame, copiedWhole
}

// take copies the next frame, or the oldest that is left if that was overwritten. It returns how many numbers before it this reader can no longer
// have. Without a frame and an error there is none yet.
func (r *ring) take() (frame []byte, missed uint64, err error) {
	latest := r.latest()
	oldest := uint64(1)
	if latest > r.frames {
		oldest = latest - r.frames + 1
	}
	first := max(oldest, r.next)
	if first > latest {
		return nil, 0, nil
	}
	for place := range min(latest-first+1, r.frames) {
		number := first + place
		frame, outcome := r.copyNumber(number)
		if outcome == copiedGone {
			continue
		}
		missed, r.next = number-r.next, behind(number)
		if outcome == copiedDamaged {
			return nil, missed, damagedFrame(number)
		}
		return frame, missed, nil
	}
	return nil, 0, nil
}

func damagedFrame(number uint64) error {
	return fmt.Errorf("%w: frame %d of the ring is damaged", errProtocol, number)
}

// behind is the number behind this one.
func behind(number uint64) uint64 {
	if number == math.MaxUint64 {
		return number
	}
	return number + 1
}

// last copies the last frame that there is, and returns its number; 0: there is none. The next frame is the one behind it.
func (r *ring) last() (frame []byte, number uint64, err error) {
	for range attempts {
		number := r.latest()
		if number == 0 {
			break
		}
		frame, outcome := r.copyNumber(number)
		if outcome == copiedGone {
			continue
		}
		r.next = behind(number)
		if outcome == copiedDamaged {
			return nil, number, damagedFrame(number)
		}
		return frame, number, nil
	}
	return nil, 0, nil
}

// waitOutcome is the end of a wait.
type waitOutcome uint8

const (
	waitFrame waitOutcome = iota
	waitTimedOut
	waitMoved
)

// wait waits until there is a frame to copy, at most for that time. It keeps a thread of the system meanwhile.
func (r *ring) wait(timeout time.Duration) (waitOutcome, error) {
	deadline, err := monotonic(timeout)
	if err != nil {
		return waitTimedOut, err
	}
	for {
		// It is read before the number: if a frame comes in between, the wait ends at once.
		state := r.half(stateByte)
		if r.latest() >= r.next {
			return waitFrame, nil
		}
		if state&movedBit != 0 || r.hasEnded() {
			return waitMoved, nil
		}
		// A word that changes all the time: the deadline holds all the same.
		if now, err := monotonic(0); err != nil || !isBefore(now, deadline) {
			return waitTimedOut, err
		}
		frames := state &^ uint32(movedBit)
		at := waitByte + uint64(frames/oneFrame%2)*wordBytes
		word := uintptr(unsafe.Pointer(&r.memory[at]))
		_, _, errno := syscall.Syscall6(syscall.SYS_FUTEX, word, futexWaitBitset, uintptr(frames-oneFrame),
			uintptr(unsafe.Pointer(&deadline)), 0, futexAnyBit)
		switch errno {
		case 0:
			// The owner wakes few, and those wake the others.
			_, _, _ = syscall.Syscall(syscall.SYS_FUTEX, word, futexWake, passedOn)
		case syscall.EAGAIN, syscall.EINTR, syscall.ETIMEDOUT:
		default:
			return waitTimedOut, fmt.Errorf("the ring: futex: %w", errno)
		}
	}
}

// monotonic is the instant of CLOCK_MONOTONIC that is that far away.
func monotonic(in time.Duration) (syscall.Timespec, error) {
	var now syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0)
	if errno != 0 {
		return now, fmt.Errorf("clock_gettime: %w", errno)
	}
	nanoseconds := int64(now.Sec)*nanosecondsOfOne + int64(now.Nsec) + int64(in)
	return syscall.NsecToTimespec(nanoseconds), nil
}

func isBefore(one, other syscall.Timespec) bool { return one.Nano() < other.Nano() }
