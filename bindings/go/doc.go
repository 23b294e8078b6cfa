// Package cpuledger reads the CPU time of a Linux machine, to the nanosecond, from the service of cpuledger: without privileges, and at a cost
// that follows what the machine did.
//
// [Client.Intervals] iterates over closed intervals: in each, the time of all processes, idle time and what could not be attributed add up to the
// capacity of the CPUs. [Client.Listing] has the tasks that there are. [Decode] makes a [Frame] of bytes from elsewhere.
//
// What the source does not know is unknown, never 0: see [Optional].
package cpuledger
