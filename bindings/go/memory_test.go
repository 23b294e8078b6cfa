package cpuledger

import (
	"encoding/binary"
	"runtime"
)

// allocated is how many bytes of memory a function takes in all.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// manyDifferences is a frame of that many tasks in 8 bytes each, whose every field is a difference that takes none, of a process that has
// them.
func manyDifferences(rows uint32) []byte {
	var told []Field
	for _, field := range Fields() {
		if field.Kind() == Unsigned {
			told = append(told, field)
		}
	}
	const sections = 3
	at := headerBytes + sections*sectionBytes
	bytes := make([]byte, at)
	copy(bytes, magic)
	section := func(number int, id section, fields []byte, count uint32, records []byte) {
		entry := bytes[headerBytes+number*sectionBytes:]
		binary.LittleEndian.PutUint16(entry, uint16(id))
		binary.LittleEndian.PutUint16(entry[2:], uint16(len(fields)/fieldBytes))
		binary.LittleEndian.PutUint32(entry[4:], leastRecord)
		binary.LittleEndian.PutUint32(entry[8:], count)
		binary.LittleEndian.PutUint32(entry[12:], uint32(len(bytes)))
		binary.LittleEndian.PutUint32(entry[16:], uint32(len(bytes)+len(fields)))
		bytes = append(append(bytes, fields...), records...)
	}
	field := func(of Field, flags, width byte, base uint64) []byte {
		entry := make([]byte, fieldBytes)
		binary.LittleEndian.PutUint16(entry, of.ID())
		entry[2], entry[3], entry[4] = byte(of.Kind()), flags, width
		binary.LittleEndian.PutUint64(entry[8:], base)
		return entry
	}
	section(0, sectionInterval, nil, 1, make([]byte, leastRecord))
	// Two processes with different figures, and their tasks by turns.
	process := field(FieldPID, 0, 1, 1)
	tasks := field(FieldPID, 0, 8, 1)
	for _, of := range told {
		process = append(process, field(of, 0, 0, 0)...)
		tasks = append(tasks, field(of, flagRelative, 0, 0)...)
	}
	section(1, sectionProcesses, process, 2, []byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0})
	records := make([]byte, leastRecord*rows)
	for row := range rows {
		records[leastRecord*row] = byte(row % 3)
	}
	section(2, sectionTasks, tasks, rows, records)
	for at, value := range map[int]uint16{
		versionAt: 1, oldestReaderAt: 1, 12: headerBytes, 14: sections, 16: sectionBytes, 18: fieldBytes, 32: mostFields, 34: mostTextBytes,
	} {
		binary.LittleEndian.PutUint16(bytes[at:], value)
	}
	for at, value := range map[int]uint32{20: uint32(len(bytes)), 24: mostBytes, 28: mostRecords} {
		binary.LittleEndian.PutUint32(bytes[at:], value)
	}
	return bytes
}
