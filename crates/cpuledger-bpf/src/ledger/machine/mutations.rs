//! Steps of the hooks that are done otherwise, each of which the simulated machines find.

/// A step of the hooks that is done otherwise: in which file, what is written there, and what instead.
pub(super) struct Mutation {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    pub(super) changes: &'static [(&'static str, &'static str)],
}

/// As it was until a run of `no_going_back_root` missed 0.8 s. A thread that had exec'd got the slot of the former leader, which had
/// its last switch before it. So two CPUs wrote one slot.
const SLOT_OF_FORMER_LEADER: Mutation = Mutation {
    name: "the slot of the former leader is found by pid and start",
    file: "ledger.bpf.c",
    changes: &[(
        "first = find_slot_of(slot->tid, slot->task);",
        "first = find_leader(leader->tgid, leader->start_boottime);",
    )],
};

pub(super) const MUTATIONS: &[Mutation] = &[
    SLOT_OF_FORMER_LEADER,
    Mutation {
        name: "the target of a fold is not listed",
        file: "ledger.bpf.c",
        changes: &[("\tlist_slot(into, interval);\n", "")],
    },
    Mutation {
        name: "the slot of a leader is not listed for its threads",
        file: "ledger.bpf.c",
        changes: &[("\t\tlist_slot(number, segment->interval);\n", "")],
    },
    Mutation {
        name: "the dead are folded after the cut, too",
        file: "ledger.bpf.c",
        changes: &[("control.is_low && !ends_after_cut(segment)", "control.is_low")],
    },
    Mutation {
        name: "the time that is folded is not added atomically",
        file: "slots.bpf.h",
        changes: &[(
            "__sync_fetch_and_add(&to[parity & 1], __sync_lock_test_and_set(&from[parity & 1], 0));",
            "to[parity & 1] += __sync_lock_test_and_set(&from[parity & 1], 0);",
        )],
    },
    Mutation {
        name: "a switch is told as booked before it is",
        file: "ledger.bpf.c",
        changes: &[(
            "\tcpu->switches++;\n",
            "\tcpu->switches++;\n\t__sync_lock_test_and_set(&cpu->booked, fresh);\n",
        )],
    },
    Mutation {
        name: "two CPUs may take a slot that collects out of the index",
        file: "ledger.bpf.c",
        changes: &[(
            "if (into && index_remove(slot->pid, into))",
            "if (into && (index_remove(slot->pid, into), true))",
        )],
    },
    Mutation {
        name: "what a task did at the cut is not left for the reader",
        file: "off.bpf.h",
        changes: &[("\t\t\tnote_at_cut(off, interval, off_word(wait_ns, state));\n", "\t\t\t;\n")],
    },
    Mutation {
        name: "what a task did at the cut is left after it is overwritten",
        file: "off.bpf.h",
        changes: &[("\tif (now_ns >= cut_ns) {\n", "\toff->off = 0;\n\tif (now_ns >= cut_ns) {\n")],
    },
    Mutation {
        name: "time off the CPU is booked in an interval that is over",
        file: "off.bpf.h",
        changes: &[("\tif (now_ns >= cut_ns) {\n", "\tif (0) {\n")],
    },
    Mutation {
        name: "what a folded task did stays in its slot",
        file: "ledger.bpf.c",
        changes: &[("\tclear_off(number, interval);\n\tif (wants_blame)\n", "\tif (wants_blame)\n")],
    },
    Mutation {
        name: "the wait for a CPU is booked as what was done before it",
        file: "off.bpf.h",
        changes: &[(
            "book_off(off, CPULEDGER_OFF_WAITS, interval, now_ns - wait_ns);",
            "book_off(off, state, interval, now_ns - wait_ns);",
        )],
    },
    Mutation {
        name: "what a task has waited before it left is not known",
        file: "off.bpf.h",
        changes: &[("\toff->run_delay_ns = run_delay(task);\n", "")],
    },
    Mutation {
        name: "a task that is preempted is taken for one that sleeps",
        file: "off.bpf.h",
        changes: &[(
            "? CPULEDGER_OFF_WAITS :                \\\n",
            "? CPULEDGER_OFF_SLEEPS :                \\\n",
        )],
    },
    Mutation {
        name: "a task that was forked is taken for one that sleeps",
        file: "ledger.bpf.c",
        changes: &[(
            "CPULEDGER_OFF_UNSEEN : CPULEDGER_OFF_WAITS",
            "CPULEDGER_OFF_UNSEEN : CPULEDGER_OFF_SLEEPS",
        )],
    },
    Mutation {
        name: "a task comes onto a CPU before it has left another",
        // With the account of blame, two rules see to it.
        file: "ledger.bpf.c",
        changes: &[(
            "\tif (blames)\n\t\tend_ns = blame_instant(",
            "\tend_ns = instant_ns;\n\tif (0)\n\t\tend_ns = blame_instant(",
        )],
    },
    Mutation {
        name: "the start of an interval is not respected",
        file: "off.bpf.h",
        changes: &[("from_ns = interval_start(interval);", "from_ns = 0;")],
    },
    Mutation {
        name: "where a task waited at the cut is not left for the reader",
        file: "blame.bpf.h",
        changes: &[("__sync_lock_test_and_set(&blame->at_cut,", "(void)(")],
    },
    Mutation {
        name: "what a task had caused at the cut is not left for the reader",
        file: "blame.bpf.h",
        changes: &[("cpu->cut_caused_ns = waited_ns - from;", "cpu->cut_caused_ns = 0;")],
    },
    Mutation {
        name: "what was caused before the cut is booked after it, too",
        file: "blame.bpf.h",
        changes: &[("\tcpu->told = waited_ns;\n", "")],
    },
    Mutation {
        name: "a task that migrates is a waiter of the CPU that it leaves",
        file: "blame.bpf.h",
        changes: &[(
            "CPULEDGER_PLACE_QUOTA : CPULEDGER_PLACE_MOVED);",
            "CPULEDGER_PLACE_QUOTA : CPULEDGER_PLACE_QUEUED);",
        )],
    },
    Mutation {
        name: "a task that waits and is woken waits twice",
        file: "blame.bpf.h",
        changes: &[("\tif (waits(blame))\n\t\treturn 0;\n\tkey =", "\tkey =")],
    },
    Mutation {
        name: "a task that has a CPU and is woken waits",
        file: "blame.bpf.h",
        changes: &[("\tif (has_cpu(task))\n\t\treturn 0;\n", "")],
    },
    Mutation {
        name: "a task that begins to wait is not listed",
        file: "blame.bpf.h",
        changes: &[("\tlist_waiter(blame, number, cpu->interval);\n", "")],
    },
    Mutation {
        name: "the reader does not see that a hook is under way",
        file: "blame.bpf.h",
        changes: &[("__sync_lock_test_and_set(&cpu->sequence, cpu->sequence + 1);", ";")],
    },
    Mutation {
        name: "the events of a CPU may go back",
        file: "blame.bpf.h",
        changes: &[("\tif (instant_ns < cpu->last_ns)\n", "\tif (0)\n")],
    },
    Mutation {
        name: "a task comes to a queue before it has left the one before",
        file: "blame.bpf.h",
        changes: &[("return instant_ns < since_ns ? since_ns : instant_ns;", "return instant_ns;")],
    },
    Mutation {
        name: "an event may be older than the reader allows for",
        file: "blame.bpf.h",
        changes: &[("if (instant_ns + CPULEDGER_BLAME_LAG_NS < now_ns)", "if (0)")],
    },
    Mutation {
        name: "what interrupts have caused is caused by the task, too",
        file: "blame.bpf.h",
        changes: &[("\tcpu->told += cpu->waiters * taken_ns;\n", "")],
    },
    Mutation {
        name: "what a folded task has suffered and caused stays in its slot",
        file: "ledger.bpf.c",
        changes: &[("\tif (wants_blame)\n\t\tmove_blame(number, into, interval);\n", "")],
    },
    Mutation {
        name: "interrupts before the cut are booked after it",
        file: "blame.bpf.h",
        changes: &[("last_ns < start_ns ? start_ns : last_ns", "last_ns")],
    },
    Mutation {
        name: "interrupts while nobody waits are booked later",
        file: "blame.bpf.h",
        changes: &[(
            "\tcpu->told_taken_ns = cpu->taken_ns;\n",
            "\tif (cpu->waiters)\n\t\tcpu->told_taken_ns = cpu->taken_ns;\n",
        )],
    },
    Mutation {
        name: "what classes had waited at the cut is not left for the reader",
        file: "pairs.bpf.h",
        changes: &[("\tcpu->cut_waiting = set;\n", "\tcpu->cut_waiting = 0;\n")],
    },
    Mutation {
        name: "what classes had waited before the cut is booked after it, too",
        file: "pairs.bpf.h",
        changes: &[("\t\tof->told = waited_ns;\n", "")],
    },
    Mutation {
        name: "a class that waits is forgotten at a switch",
        file: "pairs.bpf.h",
        changes: &[("\t\tif (!of->waiters)\n", "\t\tif (true)\n")],
    },
    Mutation {
        name: "the task that comes has caused what the one that leaves has",
        file: "pairs.bpf.h",
        changes: &[(
            "\trow = row_at(key, cpu->row);\n\tcpu->row = cpu->next_row;\n",
            "\tcpu->row = cpu->next_row;\n\trow = row_at(key, cpu->row);\n",
        )],
    },
    Mutation {
        name: "what interrupts have caused is caused by the class of the task, too",
        file: "pairs.bpf.h",
        changes: &[("\t\tof->told += of->waiters * taken_ns;\n", "")],
    },
    Mutation {
        name: "a task that was moved has waited as no class",
        file: "blame.bpf.h",
        changes: &[("\t\t\tchange_class(key, class, 0, end_ns - from_ns);\n", "\t\t\t;\n")],
    },
    Mutation {
        name: "a task that changes its cgroup leaves another class than it came as",
        file: "blame.bpf.h",
        changes: &[("blame && waits(blame) ? class_at(blame->place) : row_of(next);", "row_of(next);")],
    },
    Mutation {
        name: "an interval without an event of a CPU is booked once more",
        file: "blame.bpf.h",
        changes: &[("cpu->interval == interval - 1 ? 0 : interval_start(interval - 1));", "0);")],
    },
    Mutation {
        name: "two cgroups have the same class",
        file: "pairs.bpf.h",
        changes: &[(
            "CPULEDGER_CLASS_USED && class->cgroup_id == id && class->cgroup_v1_cpu_id == v1_cpu_id)",
            "CPULEDGER_CLASS_USED)",
        )],
    },
];
