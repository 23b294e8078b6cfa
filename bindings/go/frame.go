package cpuledger

import (
	"errors"
	"fmt"
)

// Why bytes are no frame. Errors of [Decode] are one of these, with a sentence.
var (
	// ErrTooNew is the error of bytes that need a newer reader. They may be whole.
	ErrTooNew = errors.New("the frame is of a newer version")
	// ErrDamaged is the error of all other bytes that are no frame.
	ErrDamaged = errors.New("no frame")
)

func damaged(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, arguments...))
}

// section is the number of a section in the bytes.
type section uint16

const (
	sectionInterval   section = 1
	sectionCPUs       section = 2
	sectionProcesses  section = 3
	sectionTasks      section = 4
	sectionExited     section = 5
	sectionBlocked    section = 6
	sectionFromProcfs section = 7
	sectionRenumbered section = 8
	sectionCgroups    section = 9
	sectionAncestors  section = 10
	sectionPairs      section = 11
	sectionDisks      section = 12
	sectionWire       section = 13
	// lastSection is the last that has rows.
	lastSection = sectionWire
	// textLengths and texts have the texts.
	textLengths section = 32
	texts       section = 33
)

// sectionNames are those of the test vectors.
var sectionNames = [lastSection + 1]string{
	"", "interval", "cpus", "processes", "tasks", "exited", "blocked", "from_procfs", "renumbered", "cgroups", "ancestors",
	"pairs", "disks", "wire",
}

// Frame is one closed interval, or a listing, which is one of no length.
type Frame struct {
	tables [lastSection + 1]table
	// textEnds has for each text where it ends in textBytes.
	textEnds  []uint32
	textBytes string
}

func (f *Frame) rows(of section) Rows { return Rows{f, &f.tables[of]} }

func (f *Frame) text(number uint64) string {
	begin := uint32(0)
	if number > 0 {
		begin = f.textEnds[number-1]
	}
	return f.textBytes[begin:f.textEnds[number]]
}

// Figures is the row of the interval itself: when it began and ended, capacity, idle and unattributed time.
func (f *Frame) Figures() Row { return Row{f, &f.tables[sectionInterval], 0} }

// CPUs are rows of CPUs.
func (f *Frame) CPUs() Rows { return f.rows(sectionCPUs) }

// Processes are those with time in the interval, or others that were wanted. Of a listing, all that there are.
func (f *Frame) Processes() Rows { return f.rows(sectionProcesses) }

// Tasks are those that live and ran in the interval, or others that were wanted. Of a listing, all that there are.
func (f *Frame) Tasks() Rows { return f.rows(sectionTasks) }

// Exited are the tasks that died in the interval, in the order of their deaths. Where KnowsExits of [Frame.Figures] is not 1, none is
// known.
func (f *Frame) Exited() Rows { return f.rows(sectionExited) }

// Blocked are tasks that were blocked all the time. Where KnowsBlocked of [Frame.Figures] is not 1, none is known.
func (f *Frame) Blocked() Rows { return f.rows(sectionBlocked) }

// FromProcfs has the tid of each row that comes from /proc.
func (f *Frame) FromProcfs() Rows { return f.rows(sectionFromProcfs) }

// Renumbered are tasks that go on under another tid since an exec.
func (f *Frame) Renumbered() Rows { return f.rows(sectionRenumbered) }

// Cgroups has the numbers, paths and names of cgroups of processes.
func (f *Frame) Cgroups() Rows { return f.rows(sectionCgroups) }

// Ancestors are living processes without a row, from which one with a row descends.
func (f *Frame) Ancestors() Rows { return f.rows(sectionAncestors) }

// Pairs say for how long tasks of one cgroup waited because of another, or of a cause. Where KnowsPairs of [Frame.Figures] is not 1, none is known.
func (f *Frame) Pairs() Rows { return f.rows(sectionPairs) }

// Disks say what each disk did: rows without DiskPart add up to the figures of the interval. Other rows are parts of these, or of no disk. Where
// KnowsDisks of [Frame.Figures] is not 1, none is known.
func (f *Frame) Disks() Rows { return f.rows(sectionDisks) }

// Wire says what each cgroup sent and received on the wire; the row without CgroupID is of all others. Where KnowsWire of [Frame.Figures] is not 1,
// none is known.
func (f *Frame) Wire() Rows { return f.rows(sectionWire) }

// LengthNs is the length of the interval by CLOCK_MONOTONIC.
func (f *Frame) LengthNs() Optional[uint64] {
	begin, hasBegin := f.Figures().StartNs().Get()
	end, hasEnd := f.Figures().EndNs().Get()
	if !hasBegin || !hasEnd || end < begin {
		return Optional[uint64]{}
	}
	return Known(end - begin)
}

// Interval is a closed interval of the books, behind another.
type Interval struct {
	*Frame
	// MissingNs is the time between this interval and the one before of which there is none: the loop was too slow, the service was not there, or a
	// recording has a hole. 0: this one begins where the one before has ended.
	MissingNs uint64
}
