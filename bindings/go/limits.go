package cpuledger

import "math/bits"

const (
	// mostFigure is more than any figure: CLOCK_REALTIME until the year 2116.
	mostFigure = 1 << 62
	// mostSum is more than the sum over all rows of what a row has of an interval.
	mostSum = 1 << 60
)

// mostRows is how many records a section may have: no writer tells more pairs, disks and cgroups on the wire apart.
func mostRows(id section) uint64 {
	switch id {
	case sectionPairs:
		// Each cgroup, the others and four causes, and each of the first and the others.
		return (mostCgroups + 1 + 4) * (mostCgroups + 1)
	case sectionDisks:
		// Of each disk and of all others: what it did and the part in no row; and what ended for tasks without a row.
		return 2*(mostDisks+1) + 1
	case sectionWire:
		return mostOnWire + 1
	}
	return mostRecords
}

// states are the figures of what a task did.
var states = [...]Field{
	FieldElapsedNs, FieldWaitingNs, FieldBlockedNs, FieldIOWaitNs, FieldSleepNs, FieldStoppedNs, FieldUnseenNs,
}

// isAdded has the fields whose sums over rows have a limit.
var isAdded = func() (added [fieldCount]bool) {
	for index := range fields {
		added[index] = fields[index].rule == ruleSum
	}
	for _, field := range states {
		added[field] = true
	}
	return added
}()

// checkFigures checks that figures are so small that sums of a few of them do not overflow.
func (f *Frame) checkFigures() error {
	for id := sectionInterval; id <= lastSection; id++ {
		of := &f.tables[id]
		for index := range fields {
			field := Field(index)
			values := of.column(field)
			isNumber := field == FieldCgroupID || field == FieldCgroupV1CPUID
			if values == nil || of.rows == 0 || field.Kind() != Unsigned || isNumber {
				continue
			}
			if !areSmall(values, of.rows, isAdded[field]) {
				return damaged("section %d has values of %s that are too large", id, field)
			}
		}
	}
	begin, end := f.Figures().StartNs().Or(0), f.Figures().EndNs().Or(0)
	if end < begin {
		return damaged("the interval ends before it begins")
	}
	for _, count := range []Field{FieldBlockedWithoutRow, FieldBlockedTasks, FieldOnlineCPUs} {
		if high, low := bits.Mul64(f.Figures().Unsigned(count).Or(0), end-begin); high > 0 || low >= mostSum {
			return damaged("section %d has values of %s that are too large", sectionInterval, count)
		}
	}
	return nil
}

// areSmall checks each value and, of what is added up, the sum.
func areSmall(values *column, rows int, isAdded bool) bool {
	if values.each == nil {
		high, sum := bits.Mul64(values.constant, uint64(rows))
		return values.constant == absent || values.constant < mostFigure && (!isAdded || high == 0 && sum < mostSum)
	}
	sum := uint64(0)
	for _, value := range values.each {
		if value == absent {
			continue
		}
		if value >= mostFigure {
			return false
		}
		if isAdded {
			// Both are less than 2^62.
			if sum += value; sum >= mostSum {
				return false
			}
		}
	}
	return true
}
