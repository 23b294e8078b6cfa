package cpuledger

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// The limits of a reader of version 1. Those in the header count as well.
const (
	readerVersion  = 1
	mostBytes      = 1 << 30
	mostRecords    = 1 << 22
	mostSections   = 64
	mostFields     = 1024
	mostTextBytes  = 255
	headerBytes    = 40
	sectionBytes   = 24
	fieldBytes     = 16
	leastRecord    = 8
	alignment      = 8
	flagNullable   = 1
	flagRelative   = 2
	textLengthID   = 1
	magic          = "cpuledgr"
	versionAt      = 8
	oldestReaderAt = 10
)

// Decode returns the frame that these bytes are. Its memory is at most a fixed multiple of their length. It keeps none of the bytes.
//
// The error wraps [ErrTooNew] or [ErrDamaged].
func Decode(bytes []byte) (*Frame, error) {
	d := decoder{bytes: bytes, frame: new(Frame)}
	if err := d.header(); err != nil {
		return nil, err
	}
	if err := d.sections(); err != nil {
		return nil, err
	}
	if err := d.frame.checkTexts(); err != nil {
		return nil, err
	}
	if err := d.frame.checkFigures(); err != nil {
		return nil, err
	}
	return d.frame, nil
}

type decoder struct {
	bytes []byte
	frame *Frame
	// What the header says.
	headerBytes, sectionCount, sectionEntry, fieldEntry int
	mostRecords, mostFields, mostTextBytes              uint64
}

// entry is one of the directory of sections.
type entry struct {
	id          section
	fields      []byte
	recordBytes int
	count       int
	records     []byte
}

// placed is a field within the records of a section.
type placed struct {
	id                     uint16
	kind                   Kind
	isNullable, isRelative bool
	width, offset          int
	base                   uint64
}

func u16(bytes []byte, at int) uint16 { return binary.LittleEndian.Uint16(bytes[at:]) }
func u32(bytes []byte, at int) uint32 { return binary.LittleEndian.Uint32(bytes[at:]) }
func u64(bytes []byte, at int) uint64 { return binary.LittleEndian.Uint64(bytes[at:]) }

func (d *decoder) header() error {
	bytes := d.bytes
	if len(bytes) < headerBytes {
		return damaged("the bytes are too few")
	}
	if string(bytes[:len(magic)]) != magic {
		return damaged("the bytes do not begin as a frame does")
	}
	version, oldest := u16(bytes, versionAt), u16(bytes, oldestReaderAt)
	if version == 0 {
		return damaged("it has no version")
	}
	if oldest > readerVersion {
		return fmt.Errorf("%w: it has version %d and needs a reader of version %d, this one has version %d",
			ErrTooNew, version, oldest, readerVersion)
	}
	total := u32(bytes, 20)
	if uint64(total) != uint64(len(bytes)) {
		return damaged("it has %d bytes, and these are %d", total, len(bytes))
	}
	if total > min(mostBytes, u32(bytes, 24)) {
		return damaged("%d bytes are more than a frame may have", total)
	}
	d.headerBytes, d.sectionCount = int(u16(bytes, 12)), int(u16(bytes, 14))
	d.sectionEntry, d.fieldEntry = int(u16(bytes, 16)), int(u16(bytes, 18))
	d.mostRecords = uint64(min(mostRecords, u32(bytes, 28)))
	d.mostFields = uint64(min(mostFields, u16(bytes, 32)))
	d.mostTextBytes = uint64(min(mostTextBytes, u16(bytes, 34)))
	isSize := func(size, least int) bool { return size >= least && size%alignment == 0 }
	if !isSize(d.headerBytes, headerBytes) || !isSize(d.sectionEntry, sectionBytes) || !isSize(d.fieldEntry, fieldBytes) {
		return damaged("the sizes in the header are not those of a frame")
	}
	if d.sectionCount > mostSections {
		return damaged("%d sections are more than a frame may have", d.sectionCount)
	}
	if d.headerBytes+d.sectionCount*d.sectionEntry > len(bytes) {
		return damaged("the directory of sections ends behind the frame")
	}
	return nil
}

// part returns bytes of the frame; nil: they are not within it, or not aligned.
func (d *decoder) part(offset uint32, length uint64) []byte {
	end := uint64(offset) + length
	if offset%alignment != 0 || length > uint64(len(d.bytes)) || end > uint64(len(d.bytes)) {
		return nil
	}
	return d.bytes[offset:end:end]
}

func (d *decoder) entry(number int) (entry, error) {
	bytes := d.bytes[d.headerBytes+number*d.sectionEntry:][:d.sectionEntry]
	of := entry{id: section(u16(bytes, 0))}
	fields, recordBytes, count := uint64(u16(bytes, 2)), uint64(u32(bytes, 4)), uint64(u32(bytes, 8))
	if fields > d.mostFields {
		return of, damaged("section %d has more than %d fields", of.id, d.mostFields)
	}
	most := min(d.mostRecords, mostRows(of.id))
	if of.id == texts {
		most = mostBytes // bytes, not rows
	}
	if count > most {
		return of, damaged("section %d has more than %d records", of.id, most)
	}
	// Both factors have 32 bits.
	of.fields = d.part(u32(bytes, 12), fields*uint64(d.fieldEntry))
	of.records = d.part(u32(bytes, 16), count*recordBytes)
	if of.fields == nil || of.records == nil {
		return of, damaged("section %d is not within the frame", of.id)
	}
	// More than the frame has is in no record: there is none, or it would not be within the frame.
	of.recordBytes, of.count = int(min(recordBytes, math.MaxInt32)), int(count)
	return of, nil
}

func (d *decoder) sections() error {
	var seen [mostSections]bool
	var tasks, lengths, textEntry *entry
	listed := 0
	for number := range d.sectionCount {
		of, err := d.entry(number)
		if err != nil {
			return err
		}
		isRows := of.id >= sectionInterval && of.id <= lastSection
		if !isRows && of.id != textLengths && of.id != texts {
			continue
		}
		if seen[of.id] {
			return damaged("section %d comes twice", of.id)
		}
		seen[of.id] = true
		if listed += len(of.records); listed > len(d.bytes) {
			return damaged("the sections overlap")
		}
		switch {
		case of.id == sectionTasks:
			tasks = &of // some of it may depend on the processes
		case of.id == texts:
			textEntry = &of
		case of.id == textLengths:
			lengths = &of
		default:
			relative, err := d.table(&of)
			if err != nil {
				return err
			}
			if len(relative) > 0 {
				return damaged("section %d has relative fields", of.id)
			}
		}
	}
	if !seen[sectionInterval] || d.frame.tables[sectionInterval].rows != 1 {
		return damaged("the interval has not one record")
	}
	if tasks != nil {
		if err := d.tasks(tasks); err != nil {
			return err
		}
	}
	if lengths == nil {
		return nil
	}
	return d.texts(lengths, textEntry)
}

// field reads an entry of the directory of fields.
func (d *decoder) field(of *entry, number int) (placed, error) {
	bytes := of.fields[number*d.fieldEntry:][:d.fieldEntry]
	found := placed{
		id:         u16(bytes, 0),
		kind:       Kind(bytes[2]),
		isNullable: bytes[3]&flagNullable != 0,
		isRelative: bytes[3]&flagRelative != 0,
		width:      int(bytes[4]),
		offset:     int(u16(bytes, 6)),
		base:       u64(bytes, 8),
	}
	if found.width > 8 || found.offset+found.width > of.recordBytes {
		return found, damaged("field %d of section %d is not within its record", found.id, of.id)
	}
	return found, nil
}

// table reads the columns of a section, and returns the fields that hold differences.
func (d *decoder) table(of *entry) (relative []Field, err error) {
	if of.recordBytes < leastRecord {
		return nil, damaged("the records of section %d are shorter than %d bytes", of.id, leastRecord)
	}
	into := &d.frame.tables[of.id]
	into.rows = of.count
	used := 0
	var listed [fieldCount]bool
	for number := range len(of.fields) / d.fieldEntry {
		found, err := d.field(of, number)
		if err != nil {
			return nil, err
		}
		field, isKnown := fieldOfID[found.id]
		if !isKnown {
			continue
		}
		if field.Kind() != found.kind {
			return nil, damaged("%s has the kind %d", field, found.kind)
		}
		if used += found.width; used > of.recordBytes || listed[field] {
			return nil, damaged("the fields of section %d overlap", of.id)
		}
		listed[field] = true
		if field.Kind() == Signed || found.isRelative {
			found.base ^= sign
		}
		values, inRange := readColumn(of, &found)
		if !inRange {
			return nil, tooLarge(of.id, field)
		}
		if found.isRelative {
			relative = append(relative, field)
		}
		into.add(field, values)
	}
	return relative, nil
}

func tooLarge(id section, field Field) error {
	return damaged("section %d has values of %s that are too large", id, field)
}

// readColumn reads the values of a field, and tells whether all are in range.
func readColumn(of *entry, found *placed) (column, bool) {
	if found.width == 0 {
		// All rows are absent, or have the base.
		if found.isNullable {
			return column{constant: absent}, true
		}
		return column{constant: found.base}, found.base != absent
	}
	if of.count == 0 {
		return column{constant: absent}, true
	}
	ones := uint64(math.MaxUint64) >> (64 - 8*found.width)
	each := make([]uint64, of.count)
	for row := range each {
		rest := of.records[row*of.recordBytes+found.offset:]
		var stored uint64
		if len(rest) >= 8 {
			stored = binary.LittleEndian.Uint64(rest) & ones
		} else {
			var eight [8]byte
			copy(eight[:found.width], rest)
			stored = binary.LittleEndian.Uint64(eight[:])
		}
		if found.isNullable && stored == ones {
			each[row] = absent
			continue
		}
		if stored >= absent-found.base {
			return column{}, false
		}
		each[row] = found.base + stored
	}
	values := column{each: each}
	values.mergeEqual()
	return values, true
}

// tasks reads the tasks, of which some fields may be told as differences from the processes.
func (d *decoder) tasks(of *entry) error {
	relative, err := d.table(of)
	if err != nil || len(relative) == 0 {
		return err
	}
	if slices.Contains(relative, FieldPID) {
		return damaged("the pid of a task is told as a difference")
	}
	owners, err := d.owners(of.count)
	if err != nil {
		return err
	}
	processes := &d.frame.tables[sectionProcesses]
	for _, field := range relative {
		values := d.frame.tables[sectionTasks].column(field)
		if values.each == nil {
			values.each = slices.Repeat([]uint64{values.constant}, of.count)
		}
		for row, difference := range values.each {
			if difference == absent {
				continue
			}
			base := uint64(0)
			if owner := owners[row]; owner >= 0 {
				if own := processes.raw(field, int(owner)); own != absent {
					base = own
				}
			}
			value := base + (difference ^ sign) // it wraps around
			if value == absent {
				return tooLarge(of.id, field)
			}
			values.each[row] = value
		}
		values.mergeEqual()
	}
	return nil
}

// owners returns for each task the row of its process, or -1.
func (d *decoder) owners(count int) ([]int32, error) {
	processes, tasks := &d.frame.tables[sectionProcesses], &d.frame.tables[sectionTasks]
	pids := make([]uint64, processes.rows)
	for row := range pids {
		pids[row] = processes.raw(FieldPID, row)
		if row > 0 && pids[row] <= pids[row-1] {
			return nil, damaged("the tasks are told by processes whose pids do not ascend")
		}
	}
	owners := make([]int32, count)
	for row := range owners {
		pid := tasks.raw(FieldPID, row)
		if row > 0 && pid == tasks.raw(FieldPID, row-1) {
			owners[row] = owners[row-1]
			continue
		}
		owners[row] = -1
		if place, isThere := slices.BinarySearch(pids, pid); isThere {
			owners[row] = int32(place)
		}
	}
	return owners, nil
}

func (d *decoder) texts(lengths, textEntry *entry) error {
	var all []byte
	if textEntry != nil {
		all = textEntry.records
	}
	var length *placed
	for number := range len(lengths.fields) / d.fieldEntry {
		if u16(lengths.fields, number*d.fieldEntry) != textLengthID {
			continue
		}
		found, err := d.field(lengths, number)
		if err != nil {
			return err
		}
		length = &found
		break
	}
	if length == nil {
		return damaged("the texts have no lengths")
	}
	if length.isNullable || length.width > 1 {
		return damaged("the lengths of the texts are not those of a frame")
	}
	if length.width == 0 && lengths.count > len(all) {
		return damaged("there are more texts than bytes of texts")
	}
	values, inRange := readColumn(lengths, length)
	if !inRange {
		return damaged("the lengths of the texts are not those of a frame")
	}
	ends := make([]uint32, lengths.count)
	end := uint64(0)
	for number := range ends {
		bytes := values.raw(number)
		if bytes > d.mostTextBytes {
			return damaged("text %d has %d bytes", number, bytes)
		}
		if end += bytes; end > uint64(len(all)) {
			return damaged("the texts are longer than their section")
		}
		ends[number] = uint32(end)
	}
	if end != uint64(len(all)) {
		return damaged("the texts are shorter than their section")
	}
	d.frame.textEnds, d.frame.textBytes = ends, string(all)
	return nil
}

// checkTexts checks that each number of a text is that of one.
func (f *Frame) checkTexts() error {
	count := uint64(len(f.textEnds))
	for id := sectionInterval; id <= lastSection; id++ {
		of := &f.tables[id]
		for index := range fields {
			field := Field(index)
			values := of.column(field)
			if values == nil || field.Kind() != Text {
				continue
			}
			isText := func(raw uint64) bool { return raw == absent || raw < count }
			if values.each == nil && !isText(values.constant) || !every(values.each, isText) {
				return damaged("%s of section %d is no text of the frame", field, id)
			}
		}
	}
	return nil
}

func every(values []uint64, holds func(uint64) bool) bool {
	for _, value := range values {
		if !holds(value) {
			return false
		}
	}
	return true
}
