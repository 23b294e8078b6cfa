// Command example prints which processes used most, interval by interval.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	cpuledger "github.com/cpuledger/cpuledger/bindings/go"
)

func main() {
	ctx := context.Background()
	client, err := cpuledger.Connect(ctx, "") // $CPULEDGER_SOCKET, or where the service listens
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for interval, err := range client.Intervals(ctx, time.Second) {
		if err != nil {
			log.Fatal(err)
		}
		all := interval.Figures()
		fmt.Println(all.CapacityNs(), "=", all.AttributedNs(), "+", all.IdleNs(), "+", all.UnattributedNs())
		for process := range interval.Processes().All() {
			if process.CPUNs().Or(0) > 10_000_000 {
				fmt.Printf("%v %q %v %v\n", process.PID(), process.Comm().Or(""), process.CPUNs(), process.RSSBytes())
			}
		}
	}
}
