// Command example prints what the busiest processes of the machine used, interval by interval.
package main

import (
	"context"
	"fmt"
	"log"
	"slices"
	"time"

	cpuledger "github.com/cpuledger/cpuledger/bindings/go"
)

func main() {
	ctx := context.Background()
	client, err := cpuledger.Connect(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	for interval, err := range client.Intervals(ctx, time.Second) {
		if err != nil {
			log.Fatal(err)
		}
		all := interval.Figures()
		fmt.Println("capacity", all.CapacityNs(), "idle", all.IdleNs(), "unattributed", all.UnattributedNs(), "missing", interval.MissingNs)
		processes := slices.SortedFunc(interval.Processes().All(), func(a, b cpuledger.Row) int {
			return int(b.CPUNs().Or(0)) - int(a.CPUNs().Or(0))
		})
		for _, process := range processes[:min(5, len(processes))] {
			fmt.Println(process.PID(), process.Comm(), process.CPUNs(), process.RSSBytes())
		}
	}
}
