package cpuledger

const sysMemfdCreate = 319
