"""What a poll of processes costs beside many threads: CPU time of both packages for the same look."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Callable

import psutil
import pytest

import cpuledger

#: Threads of each of 100 processes. With 1,000 of them, kernel.pid_max has to be over 100,000.
THREADS = int(os.environ.get("CPULEDGER_TEST_THREADS", "50"))
PROCESSES = 100
ROUNDS = 5

# Threads of the smallest stack, asleep.
SLEEPER = (
    "import sys, threading\nthreading.stack_size(65536)\nsleeping = threading.Event()\n"
    "for _ in range(int(sys.argv[1]) - 1): threading.Thread(target=sleeping.wait, daemon=True).start()\n"
    "print(flush=True)\nsys.stdin.read()\nimport os; os._exit(0)"
)


@pytest.fixture(scope="module")
def crowd():
    command = [sys.executable, "-S", "-c", SLEEPER, str(THREADS)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(PROCESSES)
    ]
    for child in started:
        assert child.stdout.readline() == b"\n", "there are not so many threads to be had"
    yield {child.pid for child in started}
    for child in started:
        child.stdin.close()
    for child in started:
        child.wait()
        child.stdout.close()


def cost_s(look: Callable[[], object], pause_s: float = 1.0) -> float:
    """CPU time of a look a second, after a first one: with the wait before it, and with caches that others have used meanwhile."""
    look()
    begin = time.process_time()
    for _ in range(ROUNDS):
        time.sleep(pause_s)
        look()
    return (time.process_time() - begin) / ROUNDS


def test_a_poll_costs_what_ran_and_not_what_sleeps(crowd):
    found = [psutil.Process(pid) for pid in crowd]
    attributes = ["cpu_times", "num_threads", "memory_info", "name"]

    def known_processes() -> None:
        for process in found:
            with process.oneshot():
                process.cpu_times(), process.num_threads(), process.memory_info(), process.name()

    awake: set[int] = set()
    with cpuledger.intervals(1.0) as intervals:
        next(intervals)

        def interval() -> list[int]:
            rows = next(intervals).processes
            # Who is not in it has not run.
            used = dict(zip(rows.column("pid"), rows.column("cpu_ns")))
            awake.update(crowd & used.keys())
            return [used.get(pid, 0) for pid in crowd]

        # The last of them falls asleep.
        interval()
        awake.clear()
        # It waits by itself.
        ours_s = cost_s(interval, pause_s=0.0)
    costs_s = {
        "psutil, cpu_times() of the 100": cost_s(lambda: [one.cpu_times() for one in found]),
        "psutil, 100 known processes": cost_s(known_processes),
        "psutil, process_iter()": cost_s(lambda: [one.info for one in psutil.process_iter(attributes)]),
        "psutil, each thread of the 100": cost_s(lambda: [one.threads() for one in found]),
        "cpuledger, process_iter()": cost_s(lambda: [one.info for one in cpuledger.process_iter(attributes)]),
    }
    print(f"\n{PROCESSES} processes of {THREADS} threads: cpuledger, intervals(1.0): {ours_s * 1e3:.3f} ms of CPU time a second")
    for name, each_s in costs_s.items():
        print(f"  {name}: {each_s * 1e3:.2f} ms, {each_s / ours_s:.0f} times as much")
    # What a poll costs grows with its rows, and who sleeps has none.
    assert not awake, f"{len(awake)} of {len(crowd)} sleeping processes have rows"
    # What else the machine does has rows too, so the times are compared where it is quiet.
    if os.environ.get("CPULEDGER_TEST_FULL"):
        assert ours_s < costs_s["psutil, 100 known processes"] / 2
        assert ours_s < costs_s["psutil, process_iter()"] / (100 if THREADS >= 1000 else 5)
        assert ours_s < costs_s["psutil, each thread of the 100"] / (100 if THREADS >= 500 else 20)
