package cpuledger

import (
	"cmp"
	"slices"
)

// deaths are those of the later frame.
type deaths struct {
	// tasks are the records of dead tasks.
	tasks index
	// heirs has the heir of each dead process; nil: it is not known.
	heirs map[id]*id
	// byPid has dead processes by pid: the first that died under it.
	byPid map[uint64]id
}

func deathsOf(frame *Frame) (deaths, error) {
	ids, err := idsOf(frame, sectionExited)
	if err != nil {
		return deaths{}, err
	}
	d := deaths{indexOf(ids), map[id]*id{}, map[uint64]id{}}
	dead := &frame.tables[sectionExited]
	for row := range dead.rows {
		process, ends := id{dead.raw(FieldPID, row), dead.raw(FieldProcessStartNs, row)}, dead.raw(FieldEndsProcess, row)
		if process.tid == absent || process.start == absent || ends == absent {
			return deaths{}, notMerged("the source did not tell which deaths ended a process")
		}
		if ends == 0 {
			continue
		}
		heir := &id{dead.raw(FieldAccountingPPID, row), dead.raw(FieldAccountingStartNs, row)}
		if heir.tid == absent || heir.start == absent {
			heir = nil
		}
		d.heirs[process] = heir
		if _, isThere := d.byPid[process.tid]; !isThere {
			d.byPid[process.tid] = process
		}
	}
	return d, nil
}

// heir is that of a dead process, which lives, or is that process itself where no other is known.
func (d *deaths) heir(process id) (heir id, isKnown bool) {
	heir = process
	// As many steps as there are dead would be a circle.
	for range len(d.heirs) + 1 {
		next, isDead := d.heirs[heir]
		if !isDead || next != nil && *next == heir {
			break
		}
		if next == nil {
			return id{}, false
		}
		heir = *next
	}
	return heir, true
}

// heirAfter is the heir of one whose heir this was, unless that lives.
func (d *deaths) heirAfter(pid, start uint64) (heir id, isKnown bool) {
	former := id{pid, start}
	if start == absent {
		if former, isKnown = d.byPid[pid]; !isKnown {
			return id{}, false
		}
	}
	if _, isDead := d.heirs[former]; !isDead {
		return id{}, false
	}
	return d.heir(former)
}

// consumed is what rows of the earlier frame have used whose tasks or processes died in the later one; stolen and user may be absent.
type consumed struct{ cpu, stolen, user uint64 }

func (c *consumed) add(of *table, row int, columns [2][]Field) {
	c.cpu = sum(c.cpu, knownRaw(of.raw(FieldCPUNs, row)))
	for _, field := range columns[0] {
		c.stolen = sum(c.stolen, of.raw(field, row))
	}
	for _, field := range columns[1] {
		c.user = sum(c.user, of.raw(field, row))
	}
}

// left is what the tasks of the earlier frame that died in the later one leave behind.
type left struct {
	// rows has the row in the earlier frame of each dead task, by its record in the later one.
	rows map[int]int
	// threads is what they used, by process.
	threads map[id]*consumed
}

func consumedOf(of map[id]*consumed, one id) *consumed {
	if of[one] == nil {
		of[one] = new(consumed)
	}
	return of[one]
}

func (m *merge) mergeTasks() (*left, error) {
	tables, exited := m.tables(sectionTasks), &m.frames[1].tables[sectionExited]
	earlier, err := idsOf(m.frames[0], sectionTasks)
	if err != nil {
		return nil, err
	}
	later, err := idsOf(m.frames[1], sectionTasks)
	if err != nil {
		return nil, err
	}
	renumbered, err := idsOf(m.frames[1], sectionRenumbered)
	if err != nil {
		return nil, err
	}
	isRenumbered, rows := indexOf(renumbered), indexOf(later)
	l := &left{map[int]int{}, map[id]*consumed{}}
	isPaired := make([]bool, len(later))
	var pairs []pair
	for row, one := range earlier {
		if record := m.deaths.tasks.take(one); record >= 0 {
			l.rows[record] = row
			process := id{exited.raw(FieldPID, record), exited.raw(FieldProcessStartNs, record)}
			consumedOf(l.threads, process).add(tables[0], row, stolenAndUserOfTask)
			continue
		}
		_, hasDied := m.deaths.byPid[tables[0].raw(FieldPID, row)]
		if len(isRenumbered[one]) > 0 || hasDied {
			continue
		}
		pairs = append(pairs, rows.pair(row, one, isPaired))
	}
	pairs = unpaired(pairs, isPaired)
	sortRows(pairs, tables)
	m.finishRows(m.mergeColumns(sectionTasks, pairs), tables, pairs)
	return l, nil
}

// identified is a pair, and which process it is of.
type identified struct {
	id   id
	pair pair
}

func (m *merge) mergeProcesses(l *left) error {
	tables := m.tables(sectionProcesses)
	earlier, err := idsOf(m.frames[0], sectionProcesses)
	if err != nil {
		return err
	}
	later, err := idsOf(m.frames[1], sectionProcesses)
	if err != nil {
		return err
	}
	isBare := func(side, row int) bool { return row >= 0 && tables[side].raw(FieldIsBare, row) == 1 }
	rows, inherited, isPaired := indexOf(later), map[id]*consumed{}, make([]bool, len(later))
	var pairs []pair
	for row, one := range earlier {
		if _, hasDied := m.deaths.heirs[one]; hasDied {
			if heir, isKnown := m.deaths.heir(one); isKnown {
				consumedOf(inherited, heir).add(tables[0], row, stolenAndUserOfProcess)
				continue
			}
		}
		pairs = append(pairs, rows.pair(row, one, isPaired))
	}
	pairs = unpaired(pairs, isPaired)
	for place, one := range pairs {
		pairs[place].isBare = [2]bool{isBare(0, one.rows[0]), isBare(1, one.rows[1])}
	}
	sortRows(pairs, tables)
	all := make([]identified, len(pairs))
	isListed := map[id]bool{}
	for place, one := range pairs {
		if row := one.rows[1]; row >= 0 {
			all[place] = identified{later[row], one}
		} else {
			all[place] = identified{earlier[one.rows[0]], one}
		}
		isListed[all[place].id] = true
	}
	for heir, used := range inherited {
		if used.cpu > 0 && !isListed[heir] {
			all = append(all, identified{heir, pairOf(-1, -1)})
		}
	}
	slices.SortStableFunc(all, func(a, b identified) int { return order(a.id.tid, a.id, b.id.tid, b.id) })
	m.finishProcesses(all, l, inherited)
	return nil
}

func (m *merge) finishProcesses(all []identified, l *left, inherited map[id]*consumed) {
	pairs := make([]pair, len(all))
	for place, one := range all {
		pairs[place] = one.pair
	}
	out := m.mergeColumns(sectionProcesses, pairs)
	for row, one := range all {
		if one.pair.rows == [2]int{-1, -1} {
			for _, field := range ofDeadChildren {
				out.set(field, row, 0)
			}
		}
		settleParts(out, row, l.threads[one.id], inherited[one.id])
		if one.pair.details() == [2]int{-1, -1} {
			tellBare(out, row, one.id)
		}
	}
	m.finishRows(out, m.tables(sectionProcesses), pairs)
	for row, one := range all {
		if one.pair.details()[1] < 0 {
			m.replaceHeir(out, row, one.id)
		}
	}
}

// settleParts moves the time of threads that died, and adds what the process inherits.
func settleParts(out *table, row int, threads, inherited *consumed) {
	own := out.raw(FieldSelfNs, row)
	moved, more := uint64(0), uint64(0)
	if threads != nil {
		moved = min(threads.cpu, knownRaw(own))
	}
	if inherited != nil {
		more = inherited.cpu
	}
	add := func(field Field, ns uint64) {
		if ns > 0 {
			out.set(field, row, sum(knownRaw(out.raw(field, row)), ns))
		}
	}
	add(FieldCPUNs, more)
	if moved > 0 {
		out.set(FieldSelfNs, row, own-moved)
	}
	add(FieldExitedThreadsNs, moved)
	add(FieldExitedChildrenNs, more)
	addTo := func(field Field, ns uint64) { out.set(field, row, sum(out.raw(field, row), ns)) }
	if inherited != nil {
		addTo(FieldExitedChildrenStolenNs, inherited.stolen)
		addTo(FieldExitedChildrenUserNs, inherited.user)
	}
	if threads == nil {
		return
	}
	addTo(FieldExitedThreadsStolenNs, threads.stolen)
	addTo(FieldExitedThreadsUserNs, threads.user)
	user := out.raw(FieldSelfUserNs, row)
	if user == absent || threads.user == absent {
		user = absent
	} else {
		user -= min(user, threads.user)
	}
	out.set(FieldSelfUserNs, row, user)
}

// tellBare says which process a row is of that tells nothing else but CPU time.
func tellBare(out *table, row int, of id) {
	out.set(FieldTID, row, of.tid)
	out.set(FieldPID, row, of.tid)
	out.set(FieldStartTimeNs, row, of.start)
	out.set(FieldIsBare, row, 1)
	for _, field := range parts {
		out.set(field, row, knownRaw(out.raw(field, row)))
	}
}

// replaceHeir replaces an heir that died in the later interval, in a row that is older, by the heir of that one. A row is not its own heir.
func (m *merge) replaceHeir(out *table, row int, of id) {
	pid := out.raw(FieldAccountingPPID, row)
	if pid == absent {
		return
	}
	heir, isKnown := m.deaths.heirAfter(pid, out.raw(FieldAccountingStartNs, row))
	if !isKnown {
		return
	}
	if heir == of {
		heir = id{absent, absent}
	}
	out.set(FieldAccountingPPID, row, heir.tid)
	out.set(FieldAccountingStartNs, row, heir.start)
}

func (m *merge) mergeExited(l *left) {
	tables, tasks := m.tables(sectionExited), &m.frames[0].tables[sectionTasks]
	pairs := oneAfterTheOther(tables)
	out := m.mergeColumns(sectionExited, pairs)
	for row, one := range pairs {
		if one.rows[1] < 0 {
			// It was dead when the later interval began.
			m.mergeStates(out, row, side{tables[0], one.rows[0]}, side{}, 0)
			m.replaceHeir(out, row, id{absent, absent})
			continue
		}
		before, later := side{}, side{tables[1], one.rows[1]}
		if task, isThere := l.rows[one.rows[1]]; isThere {
			before = side{tasks, task}
		}
		m.mergeStates(out, row, before, later, m.lengths[1])
		if before.table != nil {
			out.set(FieldCPUNs, row, sum(out.raw(FieldCPUNs, row), knownRaw(tasks.raw(FieldCPUNs, before.row))))
			for _, field := range offAtStart {
				out.set(field, row, tasks.raw(field, before.row))
			}
		}
	}
}

// mergeNamed merges rows that two fields name alike.
func (m *merge) mergeNamed(of section, names ...Field) {
	tables := m.tables(of)
	var named [2][]id
	for side, own := range tables {
		for row := range own.rows {
			named[side] = append(named[side], id{own.raw(names[0], row), own.raw(names[1], row)})
		}
	}
	rows, isPaired := indexOf(named[1]), make([]bool, len(named[1]))
	var pairs []pair
	for row, one := range named[0] {
		pairs = append(pairs, rows.pair(row, one, isPaired))
	}
	pairs = unpaired(pairs, isPaired)
	key := func(one pair) id {
		if one.rows[0] >= 0 {
			return named[0][one.rows[0]]
		}
		return named[1][one.rows[1]]
	}
	slices.SortStableFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(key(a).tid, key(b).tid), cmp.Compare(key(a).start, key(b).start))
	})
	m.mergeColumns(of, pairs)
}

// mergeLists has the rows of the earlier frame that are kept, and all of the later.
func (m *merge) mergeLists(of section, isKept func(row int) bool) *table {
	pairs := oneAfterTheOther(m.tables(of))
	pairs = slices.DeleteFunc(pairs, func(one pair) bool { return one.rows[0] >= 0 && !isKept(one.rows[0]) })
	return m.mergeColumns(of, pairs)
}

func (m *merge) mergeFromProcfs() {
	tidsOf := func(frame *Frame, sections ...section) map[uint64]bool {
		tids := map[uint64]bool{}
		for _, of := range sections {
			for row := range frame.tables[of].rows {
				tids[frame.tables[of].raw(FieldTID, row)] = true
			}
		}
		return tids
	}
	later, whole := tidsOf(m.frames[1], sectionProcesses, sectionTasks), tidsOf(m.out, sectionProcesses, sectionTasks)
	told := tidsOf(m.frames[1], sectionFromProcfs)
	earlier := &m.frames[0].tables[sectionFromProcfs]
	out := m.mergeLists(sectionFromProcfs, func(row int) bool {
		tid := earlier.raw(FieldTID, row)
		return whole[tid] && !later[tid] && !told[tid]
	})
	if tids := out.column(FieldTID); tids != nil {
		slices.Sort(tids.each)
	}
}

// mergeInterval merges the figures of the interval, and what was blocked in all of it.
func (m *merge) mergeInterval() {
	out := m.mergeColumns(sectionInterval, []pair{pairOf(0, 0)})
	blocked := m.tables(sectionBlocked)
	length := sum(m.lengths[0], m.lengths[1])
	listed := 0
	knows := out.raw(FieldKnowsBlocked, 0) == 1
	if knows {
		listed = blocked[1].rows
	}
	var pairs []pair
	for row := range listed {
		if since := blocked[1].raw(FieldBlockedForNs, row); since != absent && since >= length {
			pairs = append(pairs, pairOf(-1, row))
		}
	}
	m.mergeColumns(sectionBlocked, pairs)
	earlier, later := m.frames[0].tables[sectionInterval].raw(FieldBlockedTasks, 0), m.frames[1].tables[sectionInterval].raw(FieldBlockedTasks, 0)
	isWhole := later != absent && later <= uint64(blocked[1].rows)
	count := uint64(absent)
	switch {
	case !knows && later != absent:
		count = 0
	case !knows:
	case isWhole || len(pairs) < listed:
		// The list has those for longest, so that what it does not have is shorter blocked than what was dropped.
		count = uint64(len(pairs))
	case earlier != absent && later != absent:
		count = min(earlier, later) // at most
	}
	out.set(FieldBlockedTasks, 0, count)
}

// side is a row of one of both frames, or none.
type side struct {
	table *table
	row   int
}

func (s side) raw(field Field) uint64 { return s.table.raw(field, s.row) }

// finishRows puts the states of rows of processes or tasks, and what follows from them.
func (m *merge) finishRows(out *table, tables [2]*table, pairs []pair) {
	for row, one := range pairs {
		var sides [2]side
		for number, of := range one.details() {
			if of >= 0 {
				sides[number] = side{tables[number], of}
			}
		}
		m.mergeStates(out, row, sides[0], sides[1], m.lengths[1])
	}
	for row := range out.rows {
		// The wait for a CPU is in the growth of a counter, too.
		if waited := out.raw(FieldWaitingNs, row); waited != absent {
			out.set(FieldGrownRunqueueWaitNs, row, waited)
		}
	}
}

// mergeStates puts into a row what it did in both intervals, of which the later has this length.
func (m *merge) mergeStates(out *table, row int, earlier, later side, laterNs uint64) {
	var whole [len(states)]uint64
	switch {
	case earlier.table == nil && later.table == nil:
		return
	case earlier.table != nil && later.table != nil:
		for number, field := range states {
			whole[number] = sum(earlier.raw(field), later.raw(field))
		}
	case earlier.table != nil:
		alive := laterNs
		if m.between == absent && laterNs > 0 {
			alive = absent // where the other way round it is not known either
		}
		whole = addRest(earlier, offAtEnd, alive)
	default:
		alive, start := uint64(absent), later.raw(FieldStartTimeNs)
		if start != absent && m.between != absent {
			alive = min(m.between-min(m.between, start), m.lengths[0])
		}
		if alive < m.lengths[0] {
			// It began later than the earlier interval.
			for _, field := range offAtStart {
				if out.raw(field, row) != absent {
					out.set(field, row, 0)
				}
			}
		}
		whole = addRest(later, offAtStart, alive)
	}
	for number, field := range states {
		out.set(field, row, whole[number])
	}
}

// addRest adds the time in which none of the tasks of a row ran. Where it is not known what they did, nothing is known of the sum.
func addRest(of side, counts [len(rests)]Field, ns uint64) (whole [len(states)]uint64) {
	isKnown := ns != absent
	for _, field := range counts {
		isKnown = isKnown && of.raw(field) != absent
	}
	for number, field := range states {
		whole[number] = of.raw(field)
		if ns == 0 {
			continue
		}
		if !isKnown {
			whole[number] = absent
			continue
		}
		for state, figures := range rests {
			if field != FieldElapsedNs && !slices.Contains(figures, field) {
				continue
			}
			whole[number] = sum(whole[number], product(of.raw(counts[state]), ns))
		}
	}
	return whole
}
