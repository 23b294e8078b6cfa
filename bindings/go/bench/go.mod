module github.com/cpuledger/cpuledger/bindings/go/bench

go 1.25.0

require (
	github.com/cpuledger/cpuledger/bindings/go v0.0.0
	github.com/shirou/gopsutil/v4 v4.26.10
)

replace github.com/cpuledger/cpuledger/bindings/go => ../
