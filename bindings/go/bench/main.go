// Command bench tells what it costs a program to know once a second which process used how much CPU time: by the service of cpuledger, or by
// gopsutil, which reads the files of every process.
//
// usage: bench cpuledger|gopsutil REFRESHES
//
// It prints one line of JSON for each refresh: the CPU time that this process has used for it, and how many processes it knows to have used some.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	cpuledger "github.com/cpuledger/cpuledger/bindings/go"
	"github.com/shirou/gopsutil/v4/process"
)

const every = time.Second

// refresh is what a line tells.
type refresh struct {
	CPUNs  int64 `json:"cpu_ns"`
	Active int   `json:"active"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 2 {
		return fmt.Errorf("usage: bench cpuledger|gopsutil REFRESHES")
	}
	refreshes, err := strconv.Atoi(arguments[1])
	if err != nil {
		return err
	}
	switch arguments[0] {
	case "cpuledger":
		return byService(refreshes)
	case "gopsutil":
		return byFiles(refreshes)
	default:
		return fmt.Errorf("%q: cpuledger and gopsutil can be measured", arguments[0])
	}
}

// used is the CPU time of this process so far, in the kernel as well.
func used() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// meter prints what each refresh has cost.
type meter struct {
	before time.Duration
	hasOne bool
}

// add ends a refresh. The first does not count: it has no interval.
func (m *meter) add(active int) error {
	now, err := used()
	if err != nil {
		return err
	}
	if m.hasOne {
		if err := json.NewEncoder(os.Stdout).Encode(refresh{int64(now - m.before), active}); err != nil {
			return err
		}
	}
	m.before, m.hasOne = now, true
	return nil
}

func byService(refreshes int) error {
	ctx := context.Background()
	client, err := cpuledger.Connect(ctx, "")
	if err != nil {
		return err
	}
	var m meter
	used, names := map[int64]uint64{}, map[int64]string{}
	for interval, err := range client.Intervals(ctx, every) {
		if err != nil {
			return err
		}
		active := 0
		for row := range interval.Processes().All() {
			if ns := row.CPUNs().Or(0); ns > 0 {
				active++
				used[row.PID().Or(0)] += ns
				names[row.PID().Or(0)] = row.Comm().Or("")
			}
		}
		if err := m.add(active); err != nil {
			return err
		}
		if refreshes--; refreshes < 0 {
			break
		}
	}
	return nil
}

func byFiles(refreshes int) error {
	var m meter
	last := map[int32]float64{}
	for ; refreshes >= 0; refreshes-- {
		processes, err := process.Processes()
		if err != nil {
			return err
		}
		now, names, active := map[int32]float64{}, map[int32]string{}, 0
		for _, one := range processes {
			times, err := one.Times()
			if err != nil {
				continue // it has ended
			}
			seconds := times.User + times.System
			now[one.Pid] = seconds
			if before, wasThere := last[one.Pid]; seconds > before || !wasThere && seconds > 0 {
				active++
				names[one.Pid], _ = one.Name()
			}
		}
		last = now
		if err := m.add(active); err != nil {
			return err
		}
		time.Sleep(every)
	}
	return nil
}
