"""What this process has started, the dead that nobody waited for included."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

import pytest

import cpuledger

# Half a second of CPU time that getrusage(2) does not have.
SPIN = "t = time.process_time\nwhile t() < 0.5: sum(range(10000))"
IGNORED = (
    "import os, signal, sys, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nreader, writer = os.pipe()\n"
    f"if os.fork() == 0:\n    os.close(reader)\n    exec({SPIN!r})\n    os._exit(0)\nos.close(writer)\nos.read(reader, 1)\n"
)
DOUBLE_FORKED = (
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
    f"        exec({SPIN!r})\n    os._exit(0)\nos.wait()\n"
)


def children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(code: str) -> None:
    """Runs it, and waits until nothing that it has started has its pipe."""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        child.stdout.read()


@pytest.mark.parametrize("code", [IGNORED, DOUBLE_FORKED], ids=["ignored", "double-forked"])
def test_it_has_what_getrusage_misses(code):
    before_s = children_s()
    with cpuledger.measure() as m:
        run(code)
    told_s = children_s() - before_s
    missed_s = m.cpu_ns / 1e9 - told_s
    print(f"\nmeasure() {m.cpu_ns / 1e9:.3f} s, getrusage {told_s:.3f} s")
    assert 0.45 < missed_s < 1.0
    assert m.processes >= 2
    assert sum(used.cpu_ns for used in m.by_command.values()) <= m.cpu_ns
    comm = os.path.basename(os.path.realpath(sys.executable))[:15]
    assert any(name.startswith(comm[:6]) for name in m.by_command), m.by_command
    assert m.without_books_ns == 0 and m.end_ns > m.start_ns


def test_parts_add_up():
    with cpuledger.measure() as m:
        run(SPIN.replace("t = ", "import time\nt = "))
    assert m.user_ns is not None and m.system_ns is not None
    assert m.user_ns + m.system_ns + m.stolen_ns == m.cpu_ns
    assert m.user_ns > 300_000_000
    assert "1 processes" in repr(m) or m.processes > 1


def test_its_own_time_is_beside_it():
    with cpuledger.measure() as m:
        begin = time.process_time()
        while time.process_time() < begin + 0.3:
            pass
    assert 280_000_000 < m.own_cpu_ns and m.cpu_ns < 100_000_000
    assert m.by_command == {} or m.processes >= 0


def test_what_still_runs_is_named(children):
    code = "import time\nprint(flush=True)\nwhile True: pass"
    with cpuledger.measure() as m:
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            time.sleep(0.3)
            end = m.__exit__(None, None, None)
            child.kill()
    assert end is None
    assert child.pid in [one.pid for one in m.running]
    one = next(one for one in m.running if one.pid == child.pid)
    assert 0 < one.cpu_ns <= m.cpu_ns


def test_figures_are_there_at_the_end_and_errors_pass(tmp_path):
    with cpuledger.measure() as m:
        with pytest.raises(AttributeError, match="when the measurement has ended"):
            m.cpu_ns
        assert "not ended" in repr(m)
    assert m.cpu_ns >= 0
    with pytest.raises(ZeroDivisionError):
        with cpuledger.measure():
            1 / 0
    with pytest.raises(cpuledger.ServiceError):
        with cpuledger.measure(socket=tmp_path / "none"):
            raise AssertionError("it has not begun")
