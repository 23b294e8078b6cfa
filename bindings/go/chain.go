package cpuledger

import (
	"encoding/binary"
	"math"
)

// Recordings keep intervals as links of a chain: each says what differs from a prediction. docs/format/recording.md has the form of a
// link, and docs/format/rules.txt what is predicted.

// partKind is where a part of a prediction comes from.
type partKind uint8

const (
	// partMemory is the row of the same task in an earlier link.
	partMemory partKind = iota
	// partBefore is the row before.
	partBefore
	// partOwn is another field of the row.
	partOwn
	// partOwner is the row of the process.
	partOwner
	// partFigure is a figure of the interval.
	partFigure
	// partLengths is the length of the interval, times what the row has there.
	partLengths
	// partLength is the length of the interval.
	partLength
)

// term is a part of a prediction. What is absent counts as 0, but where it is the first.
type term struct {
	part    partKind
	isMinus bool
	field   Field
}

// class is what a row is, which decides by what it is predicted.
type class uint8

const (
	classKnown class = iota
	classNew
	classSole
	classThread
	classes
)

// prediction has the sums of a field, by class.
type prediction struct {
	field Field
	sums  [classes][]term
}

// special is a line of docs/format/rules.txt; section 0 stands for any.
type special struct {
	section section
	field   Field
	sums    [classes][]term
}

// The codes of a row.
const (
	codeEqual   = 0
	codeNothing = 1
	codeMore    = 2
	codeLess    = 66
	codeLast    = codeLess + 64
	// placesID stands in the list of columns for the places of rows.
	placesID = 0
	// longID is the first byte of an id that takes two more.
	longID = math.MaxUint8
	// weightOfNew is what a row weighs that no earlier link has, and a text.
	weightOfNew = 4
	noPlace     = math.MaxUint32
)

// predictions are those of each section, each behind those that it needs.
var predictions = func() (all [lastSection + 1][]prediction) {
	for id := sectionInterval; id <= lastSection; id++ {
		all[id] = predictionsOf(id)
	}
	return all
}()

func predictionsOf(id section) []prediction {
	var sums [fieldCount][classes][]term
	for index := range sums {
		field := Field(index)
		before := []term{{partBefore, false, field}}
		sums[index] = [classes][]term{{{partMemory, false, field}}, before, {{partOwner, false, field}}, before}
	}
	for _, wanted := range []section{0, id} {
		for _, rule := range specials {
			if rule.section == wanted {
				sums[rule.field] = rule.sums
			}
		}
	}
	var seen [fieldCount]bool
	ordered := make([]prediction, 0, fieldCount)
	var put func(Field)
	put = func(field Field) {
		if seen[field] {
			return
		}
		seen[field] = true
		for _, terms := range sums[field] {
			for _, one := range terms {
				isOwn := one.part == partOwn || one.part == partBefore || one.part == partLengths
				if isOwn || one.part == partFigure && id == sectionInterval {
					put(one.field)
				}
			}
		}
		ordered = append(ordered, prediction{field, sums[field]})
	}
	put(FieldPID)
	put(FieldTID)
	for index := range fields {
		put(Field(index))
	}
	return ordered
}

// memory is what earlier links have told of the rows of a section.
type memory struct {
	rows    int
	columns [fieldCount][]uint64
}

// chain reads links, one behind the other.
type chain struct {
	memories  [lastSection + 1]memory
	textEnds  []uint32
	textBytes []byte
	// allTexts is textBytes as the frames have it.
	allTexts string
}

// listedColumn is a column of a section that is not all as predicted.
type listedColumn struct {
	codes []byte
	// bit is where its numbers begin.
	bit uint64
}

// part of a link: a section.
type linkSection struct {
	id     section
	rows   int
	places *listedColumn
	fields [fieldCount]*listedColumn
}

func shortLink() error { return damaged("the link ends before its end") }

// read decodes the link that follows those before, or stands alone after restart. After an error the chain is to be read from its
// begin.
func (c *chain) read(plain, dense []byte, mostWeight uint64) (*Frame, error) {
	sections, err := c.takeApart(plain, dense, mostWeight)
	if err != nil {
		return nil, err
	}
	l := link{chain: c, frame: new(Frame), dense: dense}
	last, hasInterval := section(0), false
	for index := range sections {
		of := &sections[index]
		if of.id <= last && index > 0 {
			return nil, damaged("the sections are not in their order")
		}
		last = of.id
		if of.id < sectionInterval || of.id > lastSection {
			continue
		}
		hasInterval = hasInterval || of.id == sectionInterval && of.rows == 1
		if !hasInterval {
			break
		}
		if err := l.section(of); err != nil {
			return nil, err
		}
	}
	if !hasInterval {
		return nil, damaged("the interval has not one record")
	}
	for id := range l.frame.tables {
		for index := range l.frame.tables[id].columns {
			l.frame.tables[id].columns[index].mergeEqual()
		}
	}
	l.frame.textEnds, l.frame.textBytes = c.textEnds[:len(c.textEnds):len(c.textEnds)], c.allTexts
	return l.frame, l.frame.checkFigures()
}

// head takes numbers and bytes from the begin of a link.
type head struct {
	rest    []byte
	isShort bool
}

func (h *head) byte() byte {
	if len(h.rest) == 0 {
		h.isShort = true
		return 0
	}
	first := h.rest[0]
	h.rest = h.rest[1:]
	return first
}

func (h *head) bytes(count uint64) []byte {
	if count > uint64(len(h.rest)) {
		h.isShort = true
		return nil
	}
	taken := h.rest[:count]
	h.rest = h.rest[count:]
	return taken
}

// number has seven bits a byte, the lowest first.
func (h *head) number() uint64 {
	number := uint64(0)
	for shift := 0; shift < 63; shift += 7 {
		one := h.byte()
		number |= uint64(one&0x7f) << shift
		if one&0x80 == 0 {
			return number
		}
	}
	h.isShort = true
	return 0
}

func (h *head) id() uint16 {
	first := h.byte()
	if first != longID {
		return uint16(first)
	}
	if two := h.bytes(2); two != nil {
		return binary.LittleEndian.Uint16(two)
	}
	return 0
}

// takeApart finds the sections of a link, and takes its texts.
func (c *chain) takeApart(plain, dense []byte, mostWeight uint64) ([]linkSection, error) {
	all := head{rest: plain}
	h := head{rest: all.bytes(all.number())}
	codes := head{rest: all.rest}
	count := h.number()
	if all.isShort || h.isShort || count > mostSections {
		return nil, shortLink()
	}
	sections := make([]linkSection, 0, count)
	bit, weight := uint64(0), uint64(0)
	for range count {
		of := linkSection{id: section(h.byte())}
		rows := h.number()
		columns := h.byte()
		if h.isShort || rows > mostRows(of.id) {
			return nil, shortLink()
		}
		of.rows = int(rows)
		weight += rows
		for range columns {
			id := h.id()
			listed := &listedColumn{codes.bytes(rows), bit}
			if h.isShort || codes.isShort {
				return nil, shortLink()
			}
			for _, code := range listed.codes {
				bit += uint64(bitsBehind(code))
				if id == placesID && code == codeNothing {
					weight += weightOfNew - 1
				}
			}
			// Of one that is listed twice it is the first.
			if id == placesID {
				if of.places == nil {
					of.places = listed
				}
			} else if field, isKnown := fieldOfID[id]; isKnown && of.fields[field] == nil {
				of.fields[field] = listed
			}
		}
		sections = append(sections, of)
	}
	if (bit+7)/8 > uint64(len(dense)) {
		return nil, shortLink()
	}
	texts := h.number()
	if h.isShort {
		return nil, shortLink()
	}
	if texts > mostWeight || weight+weightOfNew*texts > mostWeight {
		return nil, damaged("the link tells of more rows and texts than its length allows")
	}
	return sections, c.takeTexts(&h, texts)
}

func (c *chain) takeTexts(h *head, count uint64) error {
	for range count {
		text := h.bytes(uint64(h.byte()))
		if h.isShort {
			return shortLink()
		}
		c.textBytes = append(c.textBytes, text...)
		c.textEnds = append(c.textEnds, uint32(len(c.textBytes)))
	}
	if count > 0 {
		c.allTexts = string(c.textBytes)
	}
	return nil
}

// bitsBehind is how many bits the number of a code has behind its first one.
func bitsBehind(code byte) uint {
	if code <= codeMore {
		return 0
	}
	return uint(code-codeMore-1) & 63
}

// bitReader reads numbers of a link, the lowest bit of a byte first.
type bitReader struct {
	bytes []byte
	at    uint64
}

// take reads at most 63 bits; behind the end they are 0.
func (b *bitReader) take(count uint) (bits uint64) {
	for taken := uint(0); taken < count; {
		place, shift := b.at/8, uint(b.at%8)
		one := min(8-shift, count-taken)
		if place < uint64(len(b.bytes)) {
			bits |= uint64(b.bytes[place]>>shift) & (1<<one - 1) << taken
		}
		taken += one
		b.at += uint64(one)
	}
	return bits
}

// difference is what a code tells, which is neither codeEqual nor codeNothing.
func (b *bitReader) difference(code byte) uint64 {
	behind := bitsBehind(code)
	amount := b.take(behind)
	if code > codeMore {
		amount |= 1 << behind
	}
	if code > codeLess {
		return -amount
	}
	return amount
}

// link is one that is being read.
type link struct {
	chain *chain
	frame *Frame
	dense []byte
	// Of the section that is read.
	id      section
	places  []uint32
	owners  []int32
	classes []class
}

func (l *link) section(of *linkSection) error {
	l.id, l.owners = of.id, nil
	if err := l.readPlaces(of); err != nil {
		return err
	}
	l.classes = make([]class, of.rows)
	for row, place := range l.places {
		if place == noPlace {
			l.classes[row] = classNew
		}
	}
	into := &l.frame.tables[of.id]
	into.rows = of.rows
	for number := range predictions[of.id] {
		// The first two say which task a row is of.
		if number == 2 {
			l.classify()
		}
		rule := &predictions[of.id][number]
		each, err := l.column(rule, of.fields[rule.field])
		if err != nil {
			return err
		}
		if each != nil {
			into.add(rule.field, column{each: each})
		}
	}
	l.learn()
	return nil
}

// remembered is the memory for the rows of the section.
func (l *link) remembered() *memory {
	if l.id == sectionExited {
		return &l.chain.memories[sectionProcesses]
	}
	return &l.chain.memories[l.id]
}

func (l *link) readPlaces(of *linkSection) error {
	known := uint64(l.remembered().rows)
	l.places = make([]uint32, of.rows)
	if of.places == nil {
		if uint64(of.rows) > known {
			return damaged("section %d has a row of no earlier link", of.id)
		}
		for row := range l.places {
			l.places[row] = uint32(row)
		}
		return nil
	}
	reader := bitReader{l.dense, of.places.bit}
	next := uint64(0)
	for row, code := range of.places.codes {
		place := next
		switch {
		case code == codeNothing:
			l.places[row] = noPlace
			continue
		case code > codeLast:
			return shortLink()
		case code != codeEqual:
			place += reader.difference(code)
		}
		if place >= known {
			return damaged("section %d has a row of no earlier link", of.id)
		}
		l.places[row] = uint32(place)
		next = place + 1
	}
	return nil
}

// classify finds rows that are predicted by others than the usual ones.
func (l *link) classify() {
	own := &l.frame.tables[l.id]
	isLeader := func(row int) bool { return own.raw(FieldPID, row) == own.raw(FieldTID, row) }
	switch l.id {
	case sectionTasks:
		d := decoder{frame: l.frame}
		owners, err := d.owners(own.rows)
		if err != nil {
			return // pids do not ascend: no task has an owner
		}
		l.owners = owners
		for row, owner := range owners {
			if owner >= 0 && isLeader(row) && l.frame.tables[sectionProcesses].raw(FieldThreads, int(owner)) == 1 {
				l.classes[row] = classSole
			}
		}
	case sectionExited:
		for row := range l.classes {
			if l.classes[row] == classNew && !isLeader(row) {
				l.classes[row] = classThread
			}
		}
	}
}

// column reads the values of a field; nil: none is known.
func (l *link) column(rule *prediction, listed *listedColumn) ([]uint64, error) {
	if len(l.places) == 0 || listed == nil && l.isNothing(rule) {
		return nil, nil
	}
	base := uint64(0)
	if rule.field.Kind() == Signed {
		base = sign
	}
	zero := uint64(absent)
	var reader bitReader
	if listed != nil {
		zero, reader = base, bitReader{l.dense, listed.bit}
	}
	each := make([]uint64, len(l.places))
	last, isKnown := uint64(absent), false
	for row := range each {
		value := l.predict(rule, row, last, zero)
		if listed != nil {
			switch code := listed.codes[row]; {
			case code == codeNothing:
				value = absent
			case code > codeLast:
				return nil, tooLarge(l.id, rule.field)
			case code != codeEqual:
				if value == absent {
					value = base
				}
				if value += reader.difference(code); value == absent {
					return nil, tooLarge(l.id, rule.field)
				}
			}
		}
		if rule.field.Kind() == Text && value != absent && value >= uint64(len(l.chain.textEnds)) {
			return nil, damaged("%s of section %d is no text of the chain", rule.field, l.id)
		}
		each[row], last = value, value
		isKnown = isKnown || value != absent
	}
	if !isKnown {
		return nil, nil
	}
	return each, nil
}

// isNothing tells whether each row is absent if nothing is told of the field: then nothing is predicted.
func (l *link) isNothing(rule *prediction) bool {
	for _, terms := range rule.sums {
		if len(terms) == 0 {
			continue
		}
		switch first := terms[0]; first.part {
		case partMemory:
			if l.remembered().columns[first.field] != nil {
				return false
			}
		case partBefore:
			if first.field != rule.field && l.frame.tables[l.id].column(first.field) != nil {
				return false
			}
		case partOwn:
			if l.frame.tables[l.id].column(first.field) != nil {
				return false
			}
		case partOwner:
			if l.frame.tables[sectionProcesses].column(first.field) != nil {
				return false
			}
		case partFigure:
			if l.frame.tables[sectionInterval].column(first.field) != nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// predict is what is predicted of a row, if the one before has the value last.
func (l *link) predict(rule *prediction, row int, last, zero uint64) uint64 {
	terms := rule.sums[l.classes[row]]
	if len(terms) == 0 {
		return zero
	}
	total := uint64(0)
	for number, one := range terms {
		value := l.value(one, rule.field, row, last)
		switch {
		case value == absent && number == 0:
			return absent
		case value == absent:
		case one.isMinus:
			total -= value
		default:
			total += value
		}
	}
	return total
}

func (l *link) value(one term, of Field, row int, last uint64) uint64 {
	own := &l.frame.tables[l.id]
	switch one.part {
	case partMemory:
		if place := l.places[row]; uint64(place) < uint64(len(l.remembered().columns[one.field])) {
			return l.remembered().columns[one.field][place]
		}
	case partBefore:
		if one.field == of {
			return last
		}
		if row > 0 {
			return own.raw(one.field, row-1)
		}
	case partOwn:
		return own.raw(one.field, row)
	case partOwner:
		if l.owners != nil && l.owners[row] >= 0 {
			return l.frame.tables[sectionProcesses].raw(one.field, int(l.owners[row]))
		}
	case partFigure:
		return l.frame.tables[sectionInterval].raw(one.field, 0)
	case partLengths:
		if times := own.raw(one.field, row); times != absent {
			return l.length() * times
		}
		return l.length()
	case partLength:
		return l.length()
	}
	return absent
}

// length is that of the interval.
func (l *link) length() uint64 {
	interval := &l.frame.tables[sectionInterval]
	begin, end := interval.raw(FieldStartNs, 0), interval.raw(FieldEndNs, 0)
	if begin == absent || end == absent {
		return absent
	}
	return end - begin
}

// learn remembers what the rows have.
func (l *link) learn() {
	if l.id == sectionExited {
		return
	}
	memory := l.remembered()
	for row, place := range l.places {
		if place == noPlace {
			l.places[row] = uint32(memory.rows)
			memory.rows++
		}
	}
	own := &l.frame.tables[l.id]
	for index := range memory.columns {
		field := Field(index)
		values := own.column(field)
		if memory.columns[index] == nil && values == nil {
			continue
		}
		for len(memory.columns[index]) < memory.rows {
			memory.columns[index] = append(memory.columns[index], absent)
		}
		for row, place := range l.places {
			memory.columns[index][place] = own.raw(field, row)
		}
	}
}
