"""How many instructions of BPF a switch and a wake-up execute, beside two tasks that take turns on a CPU.

usage: instructions.py HEADERS TREE [DEFINE...]     as root
       HEADERS: a folder with bpf/bpf_helpers.h, as OUT_DIR/include of the crate cpuledger-bpf
       DEFINE:  CPULEDGER_WANTS_BLAME=1 for a ledger that keeps blame, CPULEDGER_WANTS_PAIRS=1 besides for pairs

It compiles the ledger of a tree, loads it, and executes the programs as the verifier leaves them, with a memory of its own: the maps as the reader prepares
them, and two tasks with the fields that the programs read. A helper counts as its call. So the figures are the same each time.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

CLANG = "clang -target bpf -g -O2 -fno-stack-protector -mcpu=v3 -w -DCPULEDGER_WANTS_OFF=1".split()
ALL, HALF = (1 << 64) - 1, (1 << 32) - 1
VALUE = 312  # of struct bpf_array: where its values begin
STACK, CONTEXT = 100 << 40, 101 << 40
# Objects of the kernel, each far from the next one.
TASKS, SIGNAL, QUEUE_OF_CFS, QUEUE, SET, CGROUP, NODE, STATE = ([k << 40 for k in (110, 111, 112)], *(k << 40 for k in range(113, 120)))


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Program:
    """The text that bpftool prints, with opcodes."""

    def __init__(self, text):
        self.at, self.functions, self.calls = {}, {}, {}
        place = title = None
        for line in text.splitlines():
            if match := re.match(r" *(\d+): \(..\) (.*)", line):
                place = int(match[1])
                if title:
                    self.functions[title], title = place, None
                if call := re.match(r"call (\S+?)#(\S+)", match[2]):
                    own = call[1].startswith("pc")
                    self.calls[place] = re.sub("^bpf_prog_[0-9a-f]+_", "", call[2]) if own else call[1]
            elif match := re.match(r" +((?:[0-9a-f]{2} ?)+)$", line):
                self.at[place] = bytes.fromhex(match[1])
            elif match := re.match(r"[a-z].*?(\w+)\(.*\):$", line):
                title = match[1]


class Machine:
    """Memory, a clock, and what executes a program."""

    def __init__(self):
        self.memory, self.maps, self.names = {}, {}, {}
        self.now, self.counts = 10**12, collections.Counter()

    def get(self, address, size):
        return int.from_bytes(bytes(self.memory.get((address & ALL) + i, 0) for i in range(size)), "little")

    def put(self, address, size, value):
        for i in range(size):
            self.memory[(address & ALL) + i] = value >> 8 * i & 255

    def call(self, program, function, arguments, depth=0):
        r = [0, *arguments] + [0] * (10 - len(arguments))
        r[10] = STACK - 4096 * depth
        place = program.functions[function]
        while True:
            code = program.at[place]
            op, to, source = code[0], code[1] & 15, code[1] >> 4
            offset = int.from_bytes(code[2:4], "little", signed=True)
            number = int.from_bytes(code[4:8], "little", signed=True)
            kind, size = op & 7, {0: 4, 8: 2, 16: 1, 24: 8}[op & 24]
            self.counts["instructions"] += 1
            place += 1
            if op == 0x18:
                low, high = (int.from_bytes(code[i : i + 4], "little") for i in (4, 12))
                r[to] = {1: lambda: self.maps[low], 2: lambda: self.maps[low] + VALUE + high}.get(source, lambda: low | high << 32)()
                place += 1
            elif kind in (4, 7):
                r[to] = self.compute(op, r[to], r[source] if op & 8 else number, offset)
            elif kind == 1:
                r[to] = self.get(r[source] + offset, size)
                assert op & 0xE0 in (0x60, 0x20, 0xA0, 0xC0), "a load that is not known"
            elif kind == 2:
                self.put(r[to] + offset, size, number)
            elif kind == 3 and op & 0xE0 == 0xC0:
                self.change(r, r[to] + offset, size, source, number)
            elif kind == 3:
                self.put(r[to] + offset, size, r[source])
            elif op == 0x95:
                return r[0]
            elif op == 0x85:
                r[0] = self.help(program, program.calls[place - 1], r, depth)
            elif op >> 4 == 0:
                place += number if kind == 6 else offset
            elif self.compare(op, r[to], r[source] if op & 8 else number):
                place += offset

    def help(self, program, name, r, depth):
        if name in program.functions:
            return self.call(program, name, r[1:6], depth + 1)
        self.counts["helpers"] += 1
        if name == "bpf_probe_read_kernel":
            self.put(r[1], r[2] & HALF, self.get(r[3], r[2] & HALF))
            return 0
        assert name == "bpf_ktime_get_ns", name
        return self.now

    def change(self, r, address, size, source, how):
        """An atomic operation."""
        self.counts["atomic"] += 1
        old, mask = self.get(address, size), (1 << 8 * size) - 1
        value = r[source] & mask
        if how == 0xF1:
            if old == r[0] & mask:
                self.put(address, size, value)
            r[0] = old
            return
        fresh = value if how == 0xE1 else {0: old + value, 0x40: old | value, 0x50: old & value, 0xA0: old ^ value}[how & 0xF0]
        self.put(address, size, fresh & mask)
        if how & 1:
            r[source] = old

    @staticmethod
    def compute(op, a, b, offset):
        bits = 32 if op & 7 == 4 else 64
        a, b = a & ((1 << bits) - 1), b & ((1 << bits) - 1)
        if op >> 4 == 11 and offset in (8, 16, 32):
            b = signed(b, offset)
        return [
            lambda: a + b, lambda: a - b, lambda: a * b, lambda: a // b if b else 0, lambda: a | b, lambda: a & b, lambda: a << b % bits,
            lambda: a >> b % bits, lambda: -a, lambda: a % b if b else a, lambda: a ^ b, lambda: b, lambda: signed(a, bits) >> b % bits,
        ][op >> 4]() & ((1 << bits) - 1)  # fmt: skip

    @staticmethod
    def compare(op, a, b):
        bits = 32 if op & 7 == 6 else 64
        a, b = a & ((1 << bits) - 1), b & ((1 << bits) - 1)
        sa, sb = signed(a, bits), signed(b, bits)
        return {1: a == b, 2: a > b, 3: a >= b, 4: a & b, 5: a != b, 6: sa > sb, 7: sa >= sb, 10: a < b, 11: a <= b, 12: sa < sb, 13: sa <= sb}[op >> 4]


def load(machine, headers, tree, defines):
    """The programs by name, and the first values of the maps. Maps get entries enough, as the reader gives them."""
    with tempfile.TemporaryDirectory() as folder:
        run("cp", "-r", f"{tree}/crates/cpuledger-bpf/bpf", folder)
        run("sh", "-c", f"sed -i 's/max_entries, 1)/max_entries, 32768)/' {folder}/bpf/*.bpf.[ch]")
        defines = [f"-D{define}" for define in defines]
        run(*CLANG, *defines, "-I", ".", "-I", os.path.abspath(headers), "-c", "bpf/ledger.bpf.c", "-o", "compiled.o", cwd=folder)
        run("bpftool", "gen", "object", "linked.o", "compiled.o", cwd=folder)
        pins = f"/sys/fs/bpf/instructions-{os.getpid()}"
        run("bpftool", "prog", "loadall", f"{folder}/linked.o", pins)
        try:
            names = [name for name in ("cpul_on_switch", "on_wakeup") if os.path.exists(f"{pins}/{name}")]
            texts = {name: run("bpftool", "prog", "dump", "xlated", "pinned", f"{pins}/{name}", "opcodes") for name in names}
            for place, number in enumerate(sorted(set(re.findall(r"map\[id:(\d+)", "".join(texts.values()))))):
                name = json.loads(run("bpftool", "-j", "map", "show", "id", number))["name"]
                machine.maps[int(number)] = machine.names[name] = (place + 1) << 40
                if "rodata" in name:
                    value = json.loads(run("bpftool", "-j", "map", "dump", "id", number))[0]["value"]
                    for i, byte in enumerate(value):
                        machine.put(machine.names[name] + VALUE + i, 1, int(byte, 16))
        finally:
            run("rm", "-r", pins)
        return {name: Program(text) for name, text in texts.items()}, abi(folder)


def abi(folder):
    """Where the fields of the control record are, and the constants that it is prepared with."""
    fields = ("interval", "slots", "bucket_mask", "low_slots", "slots_of_leaders", "slot_batch", "free_count", "fresh")
    constants = ("CPULEDGER_FIRST_INTERVAL", "CPULEDGER_SLOT_BATCH", "CPULEDGER_SLOT_FIRST")
    lines = [f'printf("%zu\\n", offsetof(struct cpuledger_control, {field}));' for field in fields]
    lines += [f'printf("%d\\n", {constant});' for constant in constants]
    source = '#include <stddef.h>\n#include <stdio.h>\n#include "bpf/abi.h"\nint main(void) {' + "".join(lines) + "}"
    run("gcc", "-w", "-x", "c", "-o", f"{folder}/abi", "-I", folder, "-", input=source)
    return dict(zip(fields + constants, map(int, run(f"{folder}/abi").split())))


def offsets_of_kernel():
    """A function: where a field of a kernel's struct is."""
    types = json.loads(run("bpftool", "-j", "btf", "dump", "file", "/sys/kernel/btf/vmlinux"))["types"]
    by_id = {each["id"]: each for each in types}
    structs = {each["name"]: each for each in types if each["kind"] == "STRUCT"}

    def find(struct, name, base):
        for member in struct.get("members", []):
            at = base + member["bits_offset"] // 8
            if member["name"] == name:
                return at, by_id[member["type_id"]]
            if member["name"] == "(anon)" and (found := find(by_id[member["type_id"]], name, at)):
                return found
        return None

    def offset(struct, path):
        at, found = 0, structs[struct]
        for name in path.split("."):
            at, found = find(found, name, at)
        return at

    return offset


def prepare(machine, values, offset):
    control = machine.names[".data.control"] + VALUE
    first, batch, slot = (values[f"CPULEDGER_{name}"] for name in ("FIRST_INTERVAL", "SLOT_BATCH", "SLOT_FIRST"))
    for field, size, value in (
        ("interval", 8, first), ("slots", 4, 32768), ("bucket_mask", 4, 32767), ("low_slots", 4, 1024), ("slots_of_leaders", 4, 1024),
        ("slot_batch", 4, batch), ("free_count", 8, 32768 - slot), ("fresh", 8, slot),
    ):  # fmt: skip
        machine.put(control + values[field], size, value)
    pointers = [(QUEUE_OF_CFS, "cfs_rq", "rq", QUEUE), (SET, "css_set", "dfl_cgrp", CGROUP), (CGROUP, "cgroup", "kn", NODE)]
    pointers += [(NODE, "kernfs_node", "id", 77), (STATE, "cgroup_subsys_state", "cgroup", CGROUP)]
    for pid, task in zip((1001, 1002, 0), TASKS):
        fields = [("start_time", 1000 * pid), ("start_boottime", 1000 * pid), ("group_leader", task), ("real_parent", task), ("signal", SIGNAL)]
        fields += [("sighand", SIGNAL), ("se.cfs_rq", QUEUE_OF_CFS), ("cgroups", SET)]
        pointers += [(task, "task_struct", field, value) for field, value in fields]
        for field, value in (("pid", pid), ("tgid", pid), ("on_rq", 1)):
            machine.put(task + offset("task_struct", field), 4, value)
    for base, struct, field, value in pointers:
        machine.put(base + offset(struct, field), 8, value)
    for i in range(16):
        machine.put(SET + offset("css_set", "subsys") + 8 * i, 8, STATE)


def turns(machine, programs, offset, order, switches=200):
    """Mean counts of the second half, by program: the first half makes slots."""
    counts = collections.defaultdict(list)

    def execute(name, *context):
        for i, value in enumerate(context):
            machine.put(CONTEXT + 8 * i, 8, value)
        machine.counts.clear()
        machine.call(programs[name], name, [CONTEXT])
        counts[name].append(dict(machine.counts))

    def go_on(ns, lag_ns):
        machine.now += ns
        for clock in ("clock", "clock_task"):
            machine.put(QUEUE + offset("rq", clock), 8, machine.now - lag_ns)

    def set_of(task, field, size, value):
        machine.put(task + offset("task_struct", field), size, value)

    for i in range(switches):
        prev, following = (TASKS[order[(i + k) % len(order)]] for k in (0, 1))
        idle = TASKS[2]
        go_on(700, 120 + 7 * (i % 5))
        set_of(prev, "on_cpu", 4, 1)
        set_of(following, "on_cpu", 4, 0)
        if "on_wakeup" in programs and following != idle and i > len(order):
            execute("on_wakeup", following)
        go_on(800, 120 + 7 * (i % 3))
        set_of(following, "sched_info.last_queued", 8, machine.now - 700 if following != idle else 0)
        set_of(prev, "__state", 4, prev != idle)
        execute("cpul_on_switch", 0, prev, following, prev != idle)
    for name, all_of in counts.items():
        half = all_of[len(all_of) // 2 :]
        yield name, {what: sum(each.get(what, 0) for each in half) / len(half) for what in ("instructions", "atomic", "helpers")}


def main():
    headers, tree, *defines = sys.argv[1:]
    offset = offsets_of_kernel()
    for what, order in (("two tasks", (0, 1)), ("two tasks and idle", (0, 2, 1, 2))):
        machine = Machine()
        programs, values = load(machine, headers, tree, defines)
        if not any("BLAME" in define for define in defines):
            programs.pop("on_wakeup", None)
        prepare(machine, values, offset)
        for name, counts in turns(machine, programs, offset, order):
            print(f"{what}, {name}: " + ", ".join(f"{count:.2f} {what}" for what, count in counts.items()))


if __name__ == "__main__":
    main()
