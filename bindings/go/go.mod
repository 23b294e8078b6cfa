module github.com/cpuledger/cpuledger/bindings/go

go 1.23

require github.com/klauspost/compress v1.18.4
