package cpuledger

import "fmt"

// Optional is a value, or the statement that it is not known. Unknown is not zero: the zero value of this type is unknown.
type Optional[T any] struct {
	value T
	known bool
}

// Known returns a value that is known.
func Known[T any](value T) Optional[T] {
	return Optional[T]{value: value, known: true}
}

// Get returns the value, and whether it is known.
func (o Optional[T]) Get() (value T, known bool) {
	return o.value, o.known
}

// Or returns the value, or other where it is not known.
func (o Optional[T]) Or(other T) T {
	if o.known {
		return o.value
	}
	return other
}

// IsKnown tells whether there is a value.
func (o Optional[T]) IsKnown() bool {
	return o.known
}

// String returns the value as fmt prints it, and "-" where it is not known.
func (o Optional[T]) String() string {
	if !o.known {
		return "-"
	}
	return fmt.Sprint(o.value)
}
