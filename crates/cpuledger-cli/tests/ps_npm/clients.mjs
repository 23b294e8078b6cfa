// What five clients of ps say of some processes, as JSON; what the clock changes is left out.
// node clients.mjs ROOT PID… : ROOT is the parent of the processes.

import { createRequire } from "node:module";

const require = createRequire(process.cwd() + "/");
const psList = (await import(require.resolve("ps-list"))).default;
const { pidtree } = require("pidtree");
const pidusage = require("pidusage");
const systeminformation = require("systeminformation");
const findProcess = require("find-process").default;

const [root, ...pids] = process.argv.slice(2).map(Number);
const without = (row, ...names) => Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)));
const byPid = (one, other) => one.pid - other.pid;
const ours = (rows) => rows.filter((row) => pids.includes(row.pid)).sort(byPid);

const told = {};
told.psList = ours(await psList()).map((row) => without(row, "cpu"));
told.pidtree = (await pidtree(root, { advanced: true })).filter((row) => pids.includes(row.pid)).sort(byPid);
told.pidusage = {};
for (const pid of pids) {
    try {
        const usage = (await pidusage([pid], { usePs: true }))[pid];
        told.pidusage[pid] = without(usage, "cpu", "elapsed", "timestamp");
    } catch (error) {
        told.pidusage[pid] = error.message;
    }
}
const { list } = await systeminformation.processes();
told.systeminformation = ours(list).map((row) => without(row, "cpu", "cpuu", "cpus", "started"));
told.loads = (await systeminformation.processLoad("sleep")).map((row) => row.pids.filter((pid) => pids.includes(pid)).sort());
told.findProcess = {};
for (const pid of pids) {
    told.findProcess[pid] = await findProcess("pid", pid);
}
told.findByName = ours(await findProcess("name", "sleep"));
console.log(JSON.stringify(told));
