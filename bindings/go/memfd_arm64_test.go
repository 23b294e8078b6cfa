package cpuledger

const sysMemfdCreate = 279
