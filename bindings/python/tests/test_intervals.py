"""Intervals of a real service."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import cpuledger


def take(count: int, length: float = 0.25) -> list[cpuledger.Interval]:
    with cpuledger.intervals(length) as intervals:
        return [next(intervals) for _ in range(count)]


def test_each_interval_balances_and_begins_where_the_last_one_ended():
    before = None
    for interval in take(4):
        assert interval.source == "service" and not interval.is_gap
        assert interval.imbalance_ns == 0
        assert interval.attributed_ns + interval.idle_ns + interval.unattributed_ns == interval.capacity_ns
        assert sum(row.cpu_ns or 0 for row in interval.processes) == interval.attributed_ns
        assert sum(interval.unattributed_by.values()) == interval.unattributed_ns
        assert interval.end_ns - interval.start_ns == interval.length_ns > 0
        assert before is None or before.end_ns == interval.start_ns
        assert abs(interval.end_realtime_ns - time.time_ns()) < 60e9
        before = interval


def test_rows_are_the_rows_of_json():
    # On a quiet machine an interval has few rows.
    compared = nulls = 0
    for interval in take(8):
        more = compare_with_json(interval)
        compared, nulls = compared + more[0], nulls + more[1]
    assert compared > 1000 and nulls > 0


def compare_with_json(interval: cpuledger.Interval) -> tuple[int, int]:
    """How many values were compared, and how many of them are None."""
    told = json.loads(interval.to_json())
    assert told == interval.to_dict()
    assert told["schema"] == "cpuledger.interval/1"
    with open("/proc/sys/kernel/random/boot_id") as file:
        assert told["boot_id"] == file.read().strip() == interval.boot_id
    compared = nulls = 0
    for name in ("processes", "tasks", "exited", "blocked"):
        table = getattr(interval, name)
        assert table.to_dicts() == told[name]
        assert len(table) == len(told[name])
        for row, expected in zip(table, told[name]):
            assert row.to_dict() == expected
            for key, value in expected.items():
                own = getattr(row, key)
                assert own == value and type(own) is type(value), key
                compared, nulls = compared + 1, nulls + (value is None)
            assert set(expected) <= set(dir(row))
    for key, value in told.items():
        if key not in ("schema", "processes", "tasks", "exited", "blocked"):
            assert getattr(interval, key) == value, key
            assert key in dir(interval)
    return compared, nulls


def test_a_table_is_a_sequence():
    rows = take(1)[0].processes
    assert rows[0].pid == rows[:2][0].pid and rows[-1].pid == rows[len(rows) - 1].pid
    assert [row.pid for row in rows] == rows.column("pid")
    assert [row.pid for row in rows[::-1]] == rows.column("pid")[::-1]
    assert rows.select("comm", "pid").columns == ["comm", "pid"]
    for wrong in (len(rows), -len(rows) - 1):
        with pytest.raises(IndexError):
            rows[wrong]
    with pytest.raises(TypeError):
        rows["pid"]
    with pytest.raises(KeyError, match="no column `pids`"):
        rows.select("pids")
    with pytest.raises(ValueError, match="twice"):
        rows.select("pid", "pid")
    with pytest.raises(AttributeError, match="rows of `processes` have no attribute `pids`"):
        rows[0].pids
    assert type(rows[0]) is cpuledger.ProcessRow and isinstance(rows[0], cpuledger.Row)
    assert f"pid={rows[0].pid}" in repr(rows[0])


def test_what_died_is_there():
    code = "import os\nfor _ in range(20):\n    if os.fork() == 0: os._exit(7)\n    os.wait()"
    with cpuledger.intervals(0.5) as intervals:
        next(intervals)
        with subprocess.Popen([sys.executable, "-c", code]) as child:
            child.wait()
        found = []
        # Signals and a busy machine may put them into the next one.
        for _ in range(3):
            found += [row for row in next(intervals).exited if row.ppid == child.pid]
    assert len(found) == 20 and {row.exit_code for row in found} == {7 << 8}
    assert all(row.cpu_ns > 0 for row in found)


def test_ctrl_c_ends_a_wait():
    code = (
        "import time, cpuledger\nintervals = cpuledger.intervals(600)\nprint('waits', flush=True)\n"
        "try: next(intervals)\nexcept KeyboardInterrupt: print(time.monotonic())"
    )
    least = float("inf")
    # The machine may be busy: one of three is in time.
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout.readline() == "waits\n"
            time.sleep(0.3)
            begin = time.monotonic()
            child.send_signal(signal.SIGINT)
            least = min(least, float(child.stdout.readline()) - begin)
            assert child.wait() == 0
        if least < 0.2:
            break
    assert least < 0.2


def test_others_run_while_one_waits():
    turns = 0
    is_over = False

    def turn() -> None:
        nonlocal turns
        while not is_over:
            turns += 1
            time.sleep(0)

    with cpuledger.intervals(1.0) as intervals:
        next(intervals)
        thread = threading.Thread(target=turn)
        thread.start()
        before = turns
        next(intervals)
        counted = turns - before
        is_over = True
        thread.join()
    # With the lock held it would be a handful: one each time that signals are looked for.
    assert counted > 1000


def test_another_thread_ends_a_wait_and_two_do_not_share_one():
    intervals = cpuledger.intervals(600)
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(next(intervals, "ended")))
    thread.start()
    refused = None
    for _ in range(200):
        time.sleep(0.01)
        try:
            # Not to wait for long itself, if the other one has not begun.
            with pytest.MonkeyPatch.context():
                if not thread.is_alive():
                    break
                next(intervals)
        except RuntimeError as error:
            refused = error
            break
    intervals.close()
    thread.join(10)
    assert not thread.is_alive() and seen == ["ended"]
    assert "another thread waits" in str(refused)
    assert list(intervals) == []


def test_what_is_wrong_is_said(tmp_path):
    for length in (0, -1, float("nan"), 1e9):
        with pytest.raises(ValueError, match="seconds"):
            cpuledger.intervals(length)
    with pytest.raises(cpuledger.ServiceError, match="start it with"):
        cpuledger.intervals(1.0, socket=tmp_path / "none")
    assert issubclass(cpuledger.ServiceError, cpuledger.Error)
    with pytest.raises(ValueError, match="no table"):
        cpuledger.table([], "rows")
    with pytest.raises(TypeError):
        cpuledger.table([1], "processes")


def test_several_intervals_are_one_table():
    intervals = take(3)
    table = cpuledger.table(intervals, "processes")
    assert table.columns[:2] == ["start_ns", "end_ns"]
    assert len(table) == sum(len(interval.processes) for interval in intervals)
    assert sum(table.column("cpu_ns")) == sum(interval.attributed_ns for interval in intervals)
    expected = [interval.start_ns for interval in intervals for _ in interval.processes]
    assert table.column("start_ns") == expected
    assert (table.start_ns, table.end_ns) == (intervals[0].start_ns, intervals[-1].end_ns)
    assert [row.pid for row in table] == table.column("pid")


def test_a_fork_does_not_disturb_its_parent():
    intervals = cpuledger.intervals(0.25)
    first = next(intervals)
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    assert next(intervals).start_ns == first.end_ns
