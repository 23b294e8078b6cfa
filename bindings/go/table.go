package cpuledger

import (
	"iter"
	"math"
)

// absent stands for a value that is not known. It is greater than any value.
const absent = math.MaxUint64

// sign lies between a signed number and the unsigned one that a column keeps: the order is the same.
const sign = 1 << 63

// column holds the values of a field in the rows of a section.
type column struct {
	// constant is the value of each row, where each is nil.
	constant uint64
	each     []uint64
}

func (c *column) raw(row int) uint64 {
	if c.each == nil {
		return c.constant
	}
	return c.each[row]
}

// mergeEqual keeps one value where all rows have the same.
func (c *column) mergeEqual() {
	if len(c.each) == 0 || c.each[0] == absent {
		return
	}
	for _, value := range c.each {
		if value != c.each[0] {
			return
		}
	}
	c.constant, c.each = c.each[0], nil
}

// table holds the rows of a section.
type table struct {
	rows int
	// places has for each field its place in columns plus one, or 0 where no row has a value.
	places  [fieldCount]uint8
	columns []column
}

// column returns the values of a field; nil: no row has one.
func (t *table) column(field Field) *column {
	place := t.places[field]
	if place == 0 {
		return nil
	}
	return &t.columns[place-1]
}

func (t *table) raw(field Field, row int) uint64 {
	if of := t.column(field); of != nil {
		return of.raw(row)
	}
	return absent
}

func (t *table) add(field Field, of column) {
	t.columns = append(t.columns, of)
	t.places[field] = uint8(len(t.columns))
}

// Row is a row of a frame: a view, which holds no values itself. Its methods are the fields that a row may have; a field that the source
// does not know of this row, or that rows of this kind do not have, is unknown.
//
// The zero value is no row. Rows come from a [Frame].
type Row struct {
	frame *Frame
	table *table
	index int
}

// Unsigned returns a field whose kind is [Unsigned]. Of another kind, it is unknown.
func (row Row) Unsigned(field Field) Optional[uint64] {
	if field.Kind() != Unsigned {
		return Optional[uint64]{}
	}
	// What a hidden task has used is 0 in frames, so that sums are right, and not known.
	if (field == FieldCPUNs || field == FieldSelfNs) && row.table.raw(FieldIsUnseen, row.index) == 1 {
		return Optional[uint64]{}
	}
	raw := row.table.raw(field, row.index)
	return Optional[uint64]{raw, raw != absent}.orZero()
}

// Signed returns a field whose kind is [Signed]. Of another kind, it is unknown.
func (row Row) Signed(field Field) Optional[int64] {
	if field.Kind() != Signed {
		return Optional[int64]{}
	}
	raw := row.table.raw(field, row.index)
	return Optional[int64]{int64(raw ^ sign), raw != absent}.orZero()
}

// Text returns a field whose kind is [Text]. Of another kind, it is unknown. The bytes of the string are not always UTF-8.
func (row Row) Text(field Field) Optional[string] {
	if field.Kind() != Text {
		return Optional[string]{}
	}
	raw := row.table.raw(field, row.index)
	if raw == absent {
		return Optional[string]{}
	}
	return Known(row.frame.text(raw))
}

// orZero makes the value that of the type where it is not known, so that two unknown ones are equal.
func (o Optional[T]) orZero() Optional[T] {
	if !o.known {
		return Optional[T]{}
	}
	return o
}

// Rows are those of a section of a frame.
type Rows struct {
	frame *Frame
	table *table
}

// Len is how many there are.
func (rows Rows) Len() int { return rows.table.rows }

// At returns a row. It panics if there is none of that index.
func (rows Rows) At(index int) Row {
	if index < 0 || index >= rows.table.rows {
		panic("cpuledger: index of a row out of range")
	}
	return Row{rows.frame, rows.table, index}
}

// All iterates over the rows.
func (rows Rows) All() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for index := range rows.table.rows {
			if !yield(Row{rows.frame, rows.table, index}) {
				return
			}
		}
	}
}
