package cpuledger

// Kind is what the values of a field are.
type Kind uint8

const (
	// Unsigned is a number that is not negative.
	Unsigned Kind = iota
	// Signed is any number.
	Signed
	// Text is any bytes, which are not always UTF-8.
	Text
)

// rule is what a field of two neighbours is in the frame of both.
type rule uint8

const (
	ruleFirst rule = iota
	ruleLast
	ruleSum
	ruleLesser
	ruleOwn
)

// Field is a figure that a row of a frame may have. Its number differs between versions of this package; [Field.ID] does not.
type Field uint8

// fieldInfo is what the table of fields says of one.
type fieldInfo struct {
	id   uint16
	kind Kind
	rule rule
	name string
	help string
}

// ID is its number in frames, which never changes.
func (f Field) ID() uint16 { return fields[f].id }

// Name is its name in frames, JSON and CSV: snake_case, with the unit at the end.
func (f Field) Name() string { return fields[f].name }

// String returns its name.
func (f Field) String() string { return f.Name() }

// Kind is what its values are.
func (f Field) Kind() Kind { return fields[f].kind }

// Help is one sentence about it.
func (f Field) Help() string { return fields[f].help }

// Fields returns all fields that this version knows.
func Fields() []Field {
	all := make([]Field, len(fields))
	for index := range all {
		all[index] = Field(index)
	}
	return all
}

// FieldByName returns the field of that name, and whether there is one.
func FieldByName(name string) (Field, bool) {
	for index := range fields {
		if fields[index].name == name {
			return Field(index), true
		}
	}
	return 0, false
}

// fieldOfID maps ids to fields.
var fieldOfID = func() map[uint16]Field {
	of := make(map[uint16]Field, len(fields))
	for index := range fields {
		of[fields[index].id] = Field(index)
	}
	return of
}()
