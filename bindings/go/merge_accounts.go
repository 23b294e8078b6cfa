package cpuledger

import (
	"cmp"
	"math"
	"slices"
)

const (
	// mostCgroups are told apart in pairs, mostDisks of disks, and mostOnWire of cgroups on the wire; all others are one.
	mostCgroups = 63
	mostDisks   = 256
	mostOnWire  = 1023
)

// party made others wait, or waited: a cgroup (kind 0), other cgroups (1), or a cause (1 more than its number).
type party struct {
	kind           uint64
	unified, ofCPU uint64
}

func partyOf(unified, ofCPU uint64) party {
	if unified == absent && ofCPU == absent {
		return party{1, absent, absent}
	}
	return party{0, unified, ofCPU}
}

// compareParties has what is absent before all numbers: one more than absent is 0.
func compareParties(a, b party) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.unified+1, b.unified+1), cmp.Compare(a.ofCPU+1, b.ofCPU+1))
}

// waits has the time of each pair of parties: who had the CPU, and who waited.
type waits map[[2]party]uint64

func (w waits) add(by, of party, ns uint64) {
	if ns > 0 {
		w[[2]party{by, of}] = sum(w[[2]party{by, of}], ns)
	}
}

// read adds the pairs of a frame. A cause that is not known here is among the others.
func (w waits) read(rows *table) {
	for row := range rows.rows {
		of := partyOf(rows.raw(FieldCgroupID, row), rows.raw(FieldCgroupV1CPUID, row))
		by := partyOf(rows.raw(FieldByCgroupID, row), rows.raw(FieldByCgroupV1CPUID, row))
		if cause := rows.raw(FieldCause, row); cause >= 1 && cause <= 4 {
			by = party{cause + 1, absent, absent}
		}
		w.add(by, of, knownRaw(rows.raw(FieldPairWaitedNs, row)))
	}
}

// bounded puts the cgroups with the least sums among the others, where they are too many.
func (w waits) bounded() waits {
	sums := map[party]uint64{}
	for pair, ns := range w {
		for _, one := range pair {
			if one.kind == 0 {
				sums[one] = sum(sums[one], ns)
			}
		}
	}
	if len(sums) <= mostCgroups {
		return w
	}
	all := make([]party, 0, len(sums))
	for one := range sums {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b party) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), compareParties(b, a)) })
	isOther := map[party]bool{}
	for _, one := range all[mostCgroups:] {
		isOther[one] = true
	}
	bounded := waits{}
	for pair, ns := range w {
		for side, one := range pair {
			if isOther[one] {
				pair[side] = partyOf(absent, absent)
			}
		}
		bounded.add(pair[0], pair[1], ns)
	}
	return bounded
}

// mergePairs has the sum of both, if both know it.
func (m *merge) mergePairs() {
	if m.out.tables[sectionInterval].raw(FieldKnowsPairs, 0) != 1 {
		return
	}
	both := waits{}
	for _, of := range m.tables(sectionPairs) {
		own := waits{}
		own.read(of)
		for pair, ns := range own.bounded() {
			both.add(pair[0], pair[1], ns)
		}
	}
	both = both.bounded()
	pairs := make([][2]party, 0, len(both))
	for pair := range both {
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(a, b [2]party) int { return cmp.Or(compareParties(a[0], b[0]), compareParties(a[1], b[1])) })
	out := &m.out.tables[sectionPairs]
	*out = table{rows: len(pairs)}
	for row, pair := range pairs {
		by, of := pair[0], pair[1]
		if by.kind > 1 {
			out.set(FieldCause, row, by.kind-1)
		}
		out.set(FieldByCgroupID, row, by.unified)
		out.set(FieldByCgroupV1CPUID, row, by.ofCPU)
		out.set(FieldCgroupID, row, of.unified)
		out.set(FieldCgroupV1CPUID, row, of.ofCPU)
		out.set(FieldPairWaitedNs, row, both[pair])
	}
}

// Parts of what a disk did, as disk_part has them.
const (
	partUnattributed = 1
	partForgotten    = 2
)

// diskUse are requests, bytes and times of reads, writes and discards, and for how long tasks were blocked for them.
type diskUse [10]uint64

var usedFields = [...]Field{
	FieldEndedReads, FieldEndedReadBytes, FieldEndedReadNs, FieldEndedWrites, FieldEndedWrittenBytes, FieldEndedWriteNs,
	FieldEndedDiscards, FieldEndedDiscardedBytes, FieldEndedDiscardNs, FieldEndedBlockedNs,
}

func (u *diskUse) add(more diskUse) {
	for place, value := range more {
		u[place] = sum(u[place], value)
	}
}

// disk is one, or all others.
type disk struct {
	isOthers          bool
	major, minor      uint64
	name              string
	all, unattributed diskUse
	queue, device     uint64
}

func compareDisks(a, b disk) int {
	if a.isOthers || b.isOthers {
		return cmp.Compare(boolNumber(a.isOthers), boolNumber(b.isOthers))
	}
	return cmp.Or(cmp.Compare(a.major, b.major), cmp.Compare(a.minor, b.minor), cmp.Compare(a.name, b.name))
}

func boolNumber(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (d *disk) add(more disk) {
	d.all.add(more.all)
	d.unattributed.add(more.unattributed)
	d.queue, d.device = sum(d.queue, more.queue), sum(d.device, more.device)
}

// disks are each once, by numbers and name; others are last.
type disks struct {
	devices   []disk
	forgotten diskUse
}

// disksOf are those of a frame. A disk whose numbers are none is among the others, and a part that is not known here says nothing.
func disksOf(frame *Frame) disks {
	rows, all := &frame.tables[sectionDisks], disks{}
	for row := range rows.rows {
		own := disk{major: rows.raw(FieldDiskMajor, row), minor: rows.raw(FieldDiskMinor, row)}
		if own.isOthers = own.major > math.MaxUint32 || own.minor > math.MaxUint32; own.isOthers {
			own = disk{isOthers: true}
		} else if name := rows.raw(FieldDiskName, row); name != absent {
			own.name = frame.text(name)
		}
		var values diskUse
		for place, field := range usedFields {
			values[place] = knownRaw(rows.raw(field, row))
		}
		switch rows.raw(FieldDiskPart, row) {
		case absent:
			own.all = values
			own.queue, own.device = knownRaw(rows.raw(FieldQueueNs, row)), knownRaw(rows.raw(FieldDeviceNs, row))
		case partUnattributed:
			own.unattributed = values
		case partForgotten:
			all.forgotten.add(values)
			continue
		default:
			continue
		}
		all.devices = append(all.devices, own)
	}
	all.settle()
	return all
}

// settle has each disk once, and puts those that read and wrote least among the others, where they are too many.
func (d *disks) settle() {
	slices.SortStableFunc(d.devices, compareDisks)
	unique := d.devices[:0]
	for _, one := range d.devices {
		if last := len(unique) - 1; last >= 0 && compareDisks(unique[last], one) == 0 {
			unique[last].add(one)
		} else {
			unique = append(unique, one)
		}
	}
	d.devices = unique
	named := len(unique)
	if named > 0 && unique[named-1].isOthers {
		named--
	}
	if named <= mostDisks {
		return
	}
	weights := func(of disk) (bytes, requests uint64) { return sum(of.all[1], of.all[4]), sum(of.all[0], of.all[3]) }
	slices.SortStableFunc(d.devices[:named], func(a, b disk) int {
		bytes, requests := weights(a)
		otherBytes, otherRequests := weights(b)
		return cmp.Or(cmp.Compare(otherBytes, bytes), cmp.Compare(otherRequests, requests))
	})
	others := disk{isOthers: true}
	for _, one := range d.devices[mostDisks:] {
		others.add(one)
	}
	d.devices = d.devices[:mostDisks]
	slices.SortStableFunc(d.devices, compareDisks)
	d.devices = append(d.devices, others)
}

// mergeDisks has the sum of both, if both know it.
func (m *merge) mergeDisks() {
	if m.out.tables[sectionInterval].raw(FieldKnowsDisks, 0) != 1 {
		return
	}
	both, later := disksOf(m.frames[0]), disksOf(m.frames[1])
	both.devices = append(both.devices, later.devices...)
	both.forgotten.add(later.forgotten)
	both.settle()
	type line struct {
		of   *disk
		part uint64
		used diskUse
	}
	var lines []line
	for place := range both.devices {
		of := &both.devices[place]
		lines = append(lines, line{of, absent, of.all})
		if of.unattributed != (diskUse{}) {
			lines = append(lines, line{of, partUnattributed, of.unattributed})
		}
	}
	if both.forgotten != (diskUse{}) {
		lines = append(lines, line{nil, partForgotten, both.forgotten})
	}
	out := &m.out.tables[sectionDisks]
	*out = table{rows: len(lines)}
	for row, one := range lines {
		if one.of != nil && !one.of.isOthers {
			out.set(FieldDiskMajor, row, one.of.major)
			out.set(FieldDiskMinor, row, one.of.minor)
			if one.of.name != "" {
				out.set(FieldDiskName, row, m.intern(one.of.name))
			}
		}
		out.set(FieldDiskPart, row, one.part)
		for place, field := range usedFields {
			out.set(field, row, one.used[place])
		}
		if one.part == absent {
			out.set(FieldQueueNs, row, one.of.queue)
			out.set(FieldDeviceNs, row, one.of.device)
		}
	}
}

// wireUse are bytes and packets sent, and the same received.
type wireUse [4]uint64

var wireFields = [...]Field{FieldWireSentBytes, FieldWireSentPackets, FieldWireReceivedBytes, FieldWireReceivedPackets}

// onWire is a cgroup; id is absent of all others.
type onWire struct {
	id   uint64
	path [2]string
	used wireUse
}

func (c *onWire) add(more wireUse) {
	for place, value := range more {
		c.used[place] = sum(c.used[place], value)
	}
}

// compareOnWire has all others first: one more than absent is 0.
func compareOnWire(a, b onWire) int { return cmp.Compare(a.id+1, b.id+1) }

// settleWire has each cgroup once, with its last path, and puts those with the fewest bytes among the others, where they are too many.
func settleWire(all []onWire) []onWire {
	slices.SortStableFunc(all, compareOnWire)
	unique := all[:0]
	for _, one := range all {
		switch last := len(unique) - 1; {
		case one.used == wireUse{}:
		case last >= 0 && unique[last].id == one.id:
			unique[last].add(one.used)
			if one.path[0] != "" {
				unique[last].path = one.path
			}
		default:
			unique = append(unique, one)
		}
	}
	others := onWire{id: absent}
	if len(unique) > 0 && unique[0].id == absent {
		others, unique = unique[0], unique[1:]
	}
	if len(unique) > mostOnWire {
		bytes := func(of onWire) uint64 { return sum(of.used[0], of.used[2]) }
		slices.SortStableFunc(unique, func(a, b onWire) int { return cmp.Compare(bytes(b), bytes(a)) })
		for _, one := range unique[mostOnWire:] {
			others.add(one.used)
		}
		unique = unique[:mostOnWire]
		slices.SortStableFunc(unique, compareOnWire)
	}
	if others.used == (wireUse{}) {
		return unique
	}
	return append([]onWire{others}, unique...)
}

// wireOf are those of a frame.
func wireOf(frame *Frame) []onWire {
	rows, all := &frame.tables[sectionWire], []onWire(nil)
	for row := range rows.rows {
		own := onWire{id: rows.raw(FieldCgroupID, row)}
		for part, field := range []Field{FieldPath, FieldPathRest} {
			if number := rows.raw(field, row); number != absent && own.id != absent {
				own.path[part] = frame.text(number)
			}
		}
		for place, field := range wireFields {
			own.used[place] = knownRaw(rows.raw(field, row))
		}
		all = append(all, own)
	}
	return settleWire(all)
}

// mergeWire has the sum of both, if both know it.
func (m *merge) mergeWire() {
	if m.out.tables[sectionInterval].raw(FieldKnowsWire, 0) != 1 {
		return
	}
	both := settleWire(append(wireOf(m.frames[0]), wireOf(m.frames[1])...))
	out := &m.out.tables[sectionWire]
	*out = table{rows: len(both)}
	for row, one := range both {
		out.set(FieldCgroupID, row, one.id)
		for part, field := range []Field{FieldPath, FieldPathRest} {
			if one.path[part] != "" {
				out.set(field, row, m.intern(one.path[part]))
			}
		}
		for place, field := range wireFields {
			out.set(field, row, one.used[place])
		}
	}
}
