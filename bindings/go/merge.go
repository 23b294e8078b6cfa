package cpuledger

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// ErrNotMerged is wrapped by the error of two frames that are no neighbours which one frame can hold.
var ErrNotMerged = errors.New("the frames cannot be merged")

func notMerged(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrNotMerged, fmt.Sprintf(format, arguments...))
}

// id says which task or process a row is of: its tid and its start, as a table keeps them.
type id struct{ tid, start uint64 }

// pair has the rows of the earlier and the later frame that are of the same, or -1.
type pair struct {
	rows [2]int
	// isBare: the row tells nothing but CPU time.
	isBare [2]bool
}

func pairOf(earlier, later int) pair { return pair{rows: [2]int{earlier, later}} }

// details has the rows that tell more than CPU time.
func (p pair) details() [2]int {
	rows := p.rows
	for side, isBare := range p.isBare {
		if isBare {
			rows[side] = -1
		}
	}
	return rows
}

var (
	// parts of CPU time.
	parts = [...]Field{FieldCPUNs, FieldSelfNs, FieldExitedThreadsNs, FieldExitedChildrenNs}
	// ofDeadChildren say how the time divides that a process inherits: a row has them too that tells nothing but CPU time.
	ofDeadChildren = [...]Field{FieldExitedChildrenStolenNs, FieldExitedChildrenUserNs}
	offAtStart     = [...]Field{
		FieldWaitedAtStart, FieldSleptAtStart, FieldBlockedAtStart, FieldIOWaitedAtStart, FieldStoppedAtStart, FieldUnseenAtStart,
	}
	offAtEnd = [...]Field{
		FieldWaitedAtEnd, FieldSleptAtEnd, FieldBlockedAtEnd, FieldIOWaitedAtEnd, FieldStoppedAtEnd, FieldUnseenAtEnd,
	}
	// rests are the figures that time in each of these states belongs to.
	rests = [...][]Field{
		{FieldWaitingNs}, {FieldSleepNs}, {FieldBlockedNs}, {FieldBlockedNs, FieldIOWaitNs}, {FieldStoppedNs}, {FieldUnseenNs},
	}
	// stolenAndUser are what was stolen, and user time: of a task, and of all of a process.
	stolenAndUserOfTask    = [2][]Field{{FieldStolenNs}, {FieldSelfUserNs}}
	stolenAndUserOfProcess = [2][]Field{
		{FieldStolenNs, FieldExitedChildrenStolenNs}, {FieldSelfUserNs, FieldExitedThreadsUserNs, FieldExitedChildrenUserNs},
	}
)

// merge is two neighbours on their way to one frame.
type merge struct {
	frames [2]*Frame
	// lengths of both, and the cut between them by CLOCK_BOOTTIME, or absent.
	lengths [2]uint64
	between uint64
	deaths  deaths
	out     *Frame
	texts   map[string]uint64
	bytes   []byte
}

// Merge returns this interval and the next as one: what one interval over both would have told. Merging is associative.
//
// The error wraps [ErrNotMerged] where later does not begin where this one ends, is of another boot or source, or lacks what a merge needs; and
// [ErrDamaged] where sums are too large.
func (f *Frame) Merge(later *Frame) (*Frame, error) {
	m := merge{frames: [2]*Frame{f, later}, out: new(Frame), texts: map[string]uint64{}}
	if err := m.checkTimes(); err != nil {
		return nil, err
	}
	var err error
	if m.deaths, err = deathsOf(later); err != nil {
		return nil, err
	}
	left, err := m.mergeTasks()
	if err != nil {
		return nil, err
	}
	if err := m.mergeProcesses(left); err != nil {
		return nil, err
	}
	m.mergeExited(left)
	m.mergeNamed(sectionCPUs, FieldCPU, FieldCPU)
	m.mergeNamed(sectionCgroups, FieldCgroupID, FieldCgroupV1CPUID)
	m.mergeNamed(sectionAncestors, FieldTID, FieldStartTimeNs)
	m.mergeLists(sectionRenumbered, func(int) bool { return true })
	m.mergeFromProcfs()
	m.mergeInterval()
	m.mergePairs()
	m.mergeDisks()
	m.mergeWire()
	m.out.textBytes = string(m.bytes)
	for id := range m.out.tables {
		for index := range m.out.tables[id].columns {
			m.out.tables[id].columns[index].mergeEqual()
		}
	}
	return m.out, m.out.checkFigures()
}

func (m *merge) checkTimes() error {
	one, other := m.frames[0].Figures(), m.frames[1].Figures()
	if one.BootID() != other.BootID() {
		return notMerged("they are not of the same boot")
	}
	if one.Source() != other.Source() {
		return notMerged("they are not of the same source")
	}
	for side, frame := range m.frames {
		length, known := frame.LengthNs().Get()
		if !known {
			return notMerged("one has no start or no end")
		}
		m.lengths[side] = length
	}
	if one.EndNs() != other.StartNs() {
		return notMerged("the later does not begin where the earlier ends")
	}
	m.between = one.EndBoottimeNs().Or(absent)
	return nil
}

// sum is that of two values, which is absent where one of both is.
func sum(one, other uint64) uint64 {
	if one == absent || other == absent {
		return absent
	}
	if other > absent-1-one {
		return absent - 1
	}
	return one + other
}

// knownRaw is 0 where a time is absent: it counts as none in sums.
func knownRaw(raw uint64) uint64 {
	if raw == absent {
		return 0
	}
	return raw
}

// set puts a value into a row.
func (t *table) set(field Field, row int, value uint64) {
	of := t.column(field)
	if of == nil {
		if value == absent {
			return
		}
		t.add(field, column{each: slices.Repeat([]uint64{absent}, t.rows)})
		of = t.column(field)
	}
	if of.each == nil {
		of.each = slices.Repeat([]uint64{of.constant}, t.rows)
	}
	of.each[row] = value
}

func (m *merge) tables(of section) [2]*table {
	return [2]*table{&m.frames[0].tables[of], &m.frames[1].tables[of]}
}

// idsOf are those of the rows of a section.
func idsOf(frame *Frame, of section) ([]id, error) {
	rows := &frame.tables[of]
	ids := make([]id, rows.rows)
	for row := range ids {
		ids[row] = id{rows.raw(FieldTID, row), rows.raw(FieldStartTimeNs, row)}
		if ids[row].tid == absent || ids[row].start == absent {
			return nil, notMerged("section %d has a row without a tid or a start", of)
		}
	}
	return ids, nil
}

// index has the rows of each id, in their order.
type index map[id][]int

func indexOf(ids []id) index {
	rows := make(index, len(ids))
	for row, one := range ids {
		rows[one] = append(rows[one], row)
	}
	return rows
}

// take returns the first row that has not been taken; -1: there is none.
func (rows index) take(of id) int {
	found := rows[of]
	if len(found) == 0 {
		return -1
	}
	rows[of] = found[1:]
	return found[0]
}

// pair joins a row of the earlier frame with that of the same task in the later one, which counts as paired then.
func (rows index) pair(row int, of id, isPaired []bool) pair {
	found := rows.take(of)
	if found >= 0 {
		isPaired[found] = true
	}
	return pairOf(row, found)
}

// unpaired adds a pair for each row of the later table that has none.
func unpaired(pairs []pair, isPaired []bool) []pair {
	for row, isPaired := range isPaired {
		if !isPaired {
			pairs = append(pairs, pairOf(-1, row))
		}
	}
	return pairs
}

func oneAfterTheOther(tables [2]*table) []pair {
	var pairs []pair
	for row := range tables[0].rows {
		pairs = append(pairs, pairOf(row, -1))
	}
	for row := range tables[1].rows {
		pairs = append(pairs, pairOf(-1, row))
	}
	return pairs
}

// mergeText is the number of a text of one of both frames.
func (m *merge) mergeText(side int, raw uint64) uint64 {
	if raw == absent {
		return absent
	}
	return m.intern(m.frames[side].text(raw))
}

// intern is the number of a text in the frame that is made.
func (m *merge) intern(text string) uint64 {
	number, isThere := m.texts[text]
	if !isThere {
		number = uint64(len(m.out.textEnds))
		m.bytes = append(m.bytes, text...)
		m.out.textEnds = append(m.out.textEnds, uint32(len(m.bytes)))
		m.texts[text] = number
	}
	return number
}

// mergeColumns makes the table of both: a row for each pair, each field by its rule. Those with a rule of their own are left absent.
func (m *merge) mergeColumns(of section, pairs []pair) *table {
	out, tables := &m.out.tables[of], m.tables(of)
	*out = table{rows: len(pairs)}
	for number := range fields {
		field := Field(number)
		if fields[number].rule == ruleOwn || tables[0].column(field) == nil && tables[1].column(field) == nil {
			continue
		}
		countsBare := slices.Contains(parts[:], field) || slices.Contains(ofDeadChildren[:], field)
		each, isKnown := make([]uint64, len(pairs)), false
		for row, one := range pairs {
			rows := one.details()
			if countsBare {
				rows = one.rows
			}
			each[row] = m.mergeValue(field, tables, rows)
			isKnown = isKnown || each[row] != absent
		}
		if isKnown {
			out.add(field, column{each: each})
		}
	}
	return out
}

func (m *merge) mergeValue(field Field, tables [2]*table, rows [2]int) uint64 {
	side, raw := 1, uint64(absent)
	switch {
	case rows[0] < 0 && rows[1] < 0:
		return absent
	case rows[1] < 0:
		side, raw = 0, tables[0].raw(field, rows[0])
	case rows[0] < 0:
		raw = tables[1].raw(field, rows[1])
	default:
		earlier, later := tables[0].raw(field, rows[0]), tables[1].raw(field, rows[1])
		switch fields[field].rule {
		case ruleFirst:
			side, raw = 0, earlier
		case ruleSum:
			raw = sum(earlier, later)
		case ruleLesser:
			if earlier != absent && later != absent {
				raw = min(earlier, later)
			}
		default:
			raw = later
		}
	}
	if field.Kind() == Text {
		return m.mergeText(side, raw)
	}
	return raw
}

// order has the leader of each process before its other threads.
func order(pid uint64, one id, otherPid uint64, other id) int {
	isThread := func(pid uint64, of id) int {
		if of.tid == pid {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(pid, otherPid), isThread(pid, one)-isThread(otherPid, other), cmp.Compare(one.tid, other.tid),
		cmp.Compare(one.start, other.start))
}

// sortRows sorts pairs by pid.
func sortRows(pairs []pair, tables [2]*table) {
	key := func(one pair) (uint64, id) {
		of, row := tables[1], one.rows[1]
		if row < 0 {
			of, row = tables[0], one.rows[0]
		}
		return of.raw(FieldPID, row), id{of.raw(FieldTID, row), of.raw(FieldStartTimeNs, row)}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		pid, one := key(a)
		otherPid, other := key(b)
		return order(pid, one, otherPid, other)
	})
}

// product is that of two numbers, or the greatest there is.
func product(one, other uint64) uint64 {
	high, low := bits.Mul64(one, other)
	if high > 0 || low == absent {
		return absent - 1
	}
	return low
}
