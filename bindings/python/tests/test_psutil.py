"""psutil and this package on the same processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

import cpuledger

TICK_S = 0.01


def both(pid: int) -> tuple[psutil.Process, cpuledger.Process]:
    return psutil.Process(pid), cpuledger.Process(pid)


def test_what_does_not_change_is_equal(children):
    for child in [*children, os, psutil]:
        pid = child.pid if isinstance(child, subprocess.Popen) else {os: os.getpid(), psutil: os.getppid()}[child]
        theirs, ours = both(pid)
        for name in ("pid",):
            assert getattr(ours, name) == getattr(theirs, name)
        for name in ("ppid", "name", "username", "nice", "num_threads", "uids", "gids"):
            assert getattr(ours, name)() == getattr(theirs, name)(), name
        # psutil counts from the second in which the machine was booted.
        assert abs(ours.create_time() - theirs.create_time()) < 1.5
        assert (ours.parent() and ours.parent().pid) == (theirs.parent() and theirs.parent().pid)
        assert [one.pid for one in ours.parents()] == [one.pid for one in theirs.parents()]
        assert ours.is_running()


def test_fields_have_psutils_names():
    theirs, ours = both(os.getpid())
    for name in ("cpu_times", "uids", "gids", "num_ctx_switches"):
        assert getattr(ours, name)()._fields == getattr(theirs, name)()._fields, name
    assert ours.memory_info()._fields[:3] == theirs.memory_info()._fields[:3] == ("rss", "vms", "shared")
    assert ours.io_counters()._fields == theirs.io_counters()._fields
    assert set(ours.as_dict()) <= set(theirs.as_dict())


def test_what_grows_lies_between_two_readings(children):
    for pid in [os.getpid(), *[child.pid for child in children]]:
        theirs, ours = both(pid)
        time.sleep(0.05)
        before, read, after = theirs.cpu_times(), ours.cpu_times(), theirs.cpu_times()
        for name in ("user", "system", "children_user", "children_system"):
            low, high = getattr(before, name) - 2 * TICK_S, getattr(after, name) + 2 * TICK_S
            assert low <= getattr(read, name) <= high, name


def test_a_sleeper_is_the_same_to_both(children):
    theirs, ours = both(children[0].pid)
    assert ours.status() == theirs.status() == psutil.STATUS_SLEEPING
    memory = theirs.memory_info()
    assert ours.memory_info()[:3] == memory[:3]
    assert ours.memory_percent() == pytest.approx(theirs.memory_percent(), rel=0.01)
    # It never had another thread.
    assert ours.num_ctx_switches() == theirs.num_ctx_switches()
    io = theirs.io_counters()
    assert (ours.io_counters().read_bytes, ours.io_counters().write_bytes) == (io.read_bytes, io.write_bytes)
    assert ours.cpu_num() == theirs.cpu_num()
    assert ours.cpu_percent() == 0.0
    time.sleep(0.05)
    assert ours.cpu_percent() == theirs.cpu_percent(0.01) == 0.0


def test_children(children):
    theirs, ours = both(os.getpid())
    assert {child.pid for child in children} <= {one.pid for one in ours.children()}
    assert sorted(one.pid for one in ours.children()) == sorted(one.pid for one in theirs.children())
    theirs, ours = both(1)
    everybody = {one.pid for one in ours.children(recursive=True)}
    assert {os.getpid(), children[0].pid} <= everybody


def test_cpu_percent_of_two_that_are_busy():
    code = "import threading\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        theirs, ours = both(child.pid)
        theirs.cpu_percent(), ours.cpu_percent()
        time.sleep(1)
        told = ours.cpu_percent(), theirs.cpu_percent()
        assert told[0] == pytest.approx(told[1], abs=10) and told[0] > 5
        assert ours.status() in (psutil.STATUS_RUNNING,)
        assert ours.cpu_percent(0.3) > 5
        child.kill()


def test_process_iter_has_the_same_processes():
    before = set(psutil.pids())
    ours = [process.pid for process in cpuledger.process_iter()]
    after = set(psutil.pids())
    assert ours == sorted(ours)
    # What both readings of psutil have was there in between.
    assert before & after <= set(ours) | {0}
    first = {process.pid: process for process in cpuledger.process_iter()}
    assert all(first[process.pid] is process for process in cpuledger.process_iter() if process.pid in first)


def test_process_iter_informs():
    names = {process.pid: process.info for process in psutil.process_iter(["name", "username", "ppid"])}
    same = 0
    for process in cpuledger.process_iter(["name", "username", "ppid"]):
        same += names.get(process.pid) == process.info
    assert same >= 0.9 * len(names)
    info = next(iter(cpuledger.process_iter([]))).info
    assert info["pid"] == 1 and {"cpu_times", "memory_info", "status"} <= set(info)
    with pytest.raises(ValueError, match="no attribute for as_dict"):
        list(cpuledger.process_iter(["nothing"]))
    with pytest.raises(cpuledger.NotProvided, match="/proc/PID/cmdline"):
        list(cpuledger.process_iter(["cmdline"]))


def test_a_dead_process():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    theirs, ours = both(child.pid)
    assert ours.is_running() and hash(ours) == hash(cpuledger.Process(child.pid)) and ours == cpuledger.Process(child.pid)
    child.kill()
    # Until it is waited for it is a zombie.
    while theirs.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    time.sleep(0.05)
    assert ours.status() == psutil.STATUS_ZOMBIE and ours.is_running()
    child.wait()
    child.stdin.close()
    assert not ours.is_running() and not theirs.is_running() and not cpuledger.pid_exists(child.pid)
    for name in ("ppid", "name", "cpu_times", "cpu_percent", "memory_info", "status", "children"):
        with pytest.raises(cpuledger.NoSuchProcess) as caught:
            getattr(ours, name)()
        assert caught.value.pid == child.pid
    with pytest.raises(cpuledger.NoSuchProcess):
        cpuledger.Process(child.pid)
    with pytest.raises(cpuledger.NoSuchProcess):
        with ours.oneshot():
            pass


def test_oneshot_is_one_listing():
    ours = cpuledger.Process()
    with ours.oneshot():
        first = ours.cpu_times()
        begin = time.process_time()
        while time.process_time() < begin + 0.1:
            pass
        assert ours.cpu_times() == first
    time.sleep(0.03)
    assert ours.cpu_times() != first


def test_what_is_not_provided_says_where_it_is():
    ours = cpuledger.Process()
    for name in dir(psutil.Process):
        # Every method of psutil is there, or refused in words.
        if name.startswith("_") or hasattr(cpuledger.Process, name):
            continue
        with pytest.raises(cpuledger.NotProvided, match=f"cpuledger has no `{name}` of a process; .*psutil has it"):
            getattr(ours, name)
        assert not hasattr(ours, name)
    with pytest.raises(AttributeError, match="no attribute `nothing`"):
        ours.nothing
    with pytest.raises(ValueError):
        ours.memory_percent("data")
    with pytest.raises(ValueError):
        cpuledger.Process(-1)
    with pytest.raises(TypeError):
        cpuledger.Process("1")


def test_threads_share_the_listings():
    failures: list[BaseException] = []

    def look() -> None:
        try:
            for process in cpuledger.process_iter(["name", "cpu_times"]):
                assert process.info["name"]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=look) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert failures == []


def test_a_listing_is_a_table():
    table = cpuledger.processes()
    own = next(row for row in table if row.pid == os.getpid())
    # A thread that was joined may still end.
    assert own.threads >= 1 and own.rss_bytes > 0
    assert 0 < table.start_ns <= table.end_ns and table.shows_all is True
    few = cpuledger.processes(["comm"])
    assert few[0].comm and few[0].rss_bytes is None
    tasks = cpuledger.tasks(["comm"])
    assert len(tasks) >= len(few) and os.getpid() in tasks.column("tid")
    with pytest.raises(ValueError, match="no field `nothing`"):
        cpuledger.processes(["nothing"])
    with pytest.raises(TypeError):
        cpuledger.processes("comm")
