"""Eight threads in one object: each has the answers that one thread has, or an exception that says what not to share."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
import time
from typing import Any, Callable, Iterator

import pytest

import cpuledger

THREADS = 8

#: Nothing here takes so long: who has not ended by then waits for ever.
MOST_S = 120.0

TABLES = ("processes", "tasks", "exited", "blocked")


@pytest.fixture(autouse=True)
def many_switches() -> Iterator[None]:
    """With the lock of the interpreter, threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any]) -> list[Any]:
    """What the work returns in each of the threads, which begin at the same time. What it raises is raised here."""
    start = threading.Barrier(THREADS)
    results: list[Any] = [None] * THREADS
    raised: list[BaseException] = []

    def run(number: int) -> None:
        try:
            start.wait()
            results[number] = work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + MOST_S
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    if raised:
        raise raised[0]
    return results


def rows_of(table: cpuledger.Table[Any] | None) -> object:
    """What a table has, by all ways to it."""
    if table is None:
        return None
    names = table.columns[:3]
    few = table.select(*names)
    return (
        repr(table),
        table.to_dicts(),
        [row.to_dict() for row in table],
        [repr(row) for row in table[::-1]],
        {name: table.column(name) for name in table.columns},
        [[getattr(row, name) for name in names] for row in few],
        type(few.__arrow_c_stream__()).__name__,
    )


#: The ways to look at an interval. Each is the first for a thread.
LOOKS: list[Callable[[cpuledger.Interval], object]] = [
    lambda interval: interval.to_json(),
    lambda interval: rows_of(interval.processes),
    lambda interval: rows_of(interval.tasks),
    lambda interval: rows_of(interval.exited),
    lambda interval: rows_of(interval.blocked),
    lambda interval: interval.to_dict(),
    lambda interval: {name: repr(getattr(interval, name)) for name in dir(interval) if name[0] != "_" and name[:3] != "to_"},
    lambda interval: [cpuledger.table([interval, interval], name).to_dicts() for name in TABLES],
]


def looks(interval: cpuledger.Interval, first: int = 0) -> list[object]:
    found: list[object] = [None] * len(LOOKS)
    for step in range(len(LOOKS)):
        place = (first + step) % len(LOOKS)
        found[place] = LOOKS[place](interval)
    return found


def test_a_free_threaded_python_stays_so():
    # A module that needs the lock would have brought it back.
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    assert has_lock == (not sysconfig.get_config_var("Py_GIL_DISABLED"))


def test_an_interval_of_a_recording(recording):
    alone, shared = list(cpuledger.read(recording)), list(cpuledger.read(recording))
    assert len(alone) == len(shared) > 3
    busiest = sorted(zip(alone, shared), key=lambda pair: len(pair[0].exited))[-3:]
    for one, other in busiest:
        expected = looks(one)
        assert len(one.processes) > 0 and len(one.exited) > 0
        # Its rows and names are made when they are first wanted: here by all at once.
        for found in together(lambda number: looks(other, number)):
            assert found == expected


def test_an_interval_of_the_service(burn):
    with cpuledger.intervals(0.25) as intervals:
        next(intervals)
        burn(0.05)
        shared = [next(intervals) for _ in range(4)]
    assert any(len(one.processes) for one in shared)
    for one in shared:
        found = together(lambda number: looks(one, number))
        assert all(other == looks(one) for other in found)


def test_a_recording(recording):
    expected = [one.to_json() for one in cpuledger.read(recording)]
    shared = cpuledger.read(recording)
    span = shared.span_realtime_ns
    for found in together(lambda _: ([one.to_json() for one in shared], shared.span_realtime_ns)):
        assert found == (expected, span)


def test_an_iterator_of_a_recording_gives_each_interval_once(recording):
    expected = [one.to_json() for one in cpuledger.read(recording)]
    for _ in range(5):
        shared = iter(cpuledger.read(recording))
        found = together(lambda _: [(one.end_ns, one.to_json()) for one in shared])
        assert [line for _, line in sorted(sum(found, []))] == expected
        assert list(shared) == []


def test_an_iterator_of_rows_gives_each_row_once(recording):
    table = cpuledger.table(cpuledger.read(recording), "tasks").select("start_ns", "tid", "cpu_ns")
    expected = sorted((row.pid, row.tid, row.cpu_ns or 0) for row in table)
    assert len(expected) > 100
    for _ in range(20):
        shared = iter(table)
        found = together(lambda _: [(row.pid, row.tid, row.cpu_ns or 0) for row in shared])
        assert sorted(sum(found, [])) == expected
        assert list(shared) == []


def test_intervals_refuse_a_second_waiter_and_lose_nothing():
    with cpuledger.intervals(0.02) as shared:
        first = next(shared)
        end = time.monotonic() + 2.0

        def work(_: int) -> tuple[list[tuple[int, int]], int]:
            taken, refused = [], 0
            while time.monotonic() < end:
                try:
                    one = next(shared)
                    assert one.imbalance_ns == 0 and shared.ended is None
                    taken.append((one.start_ns, one.end_ns))
                except RuntimeError as error:
                    assert "call intervals() once in each thread" in str(error)
                    refused += 1
                    time.sleep(0.001)
            return taken, refused

        found = together(work)
    times = sorted(sum((taken for taken, _ in found), []))
    assert len(times) > 3 and sum(refused for _, refused in found) > 0
    assert [begin for begin, _ in times] == [first.end_ns, *(end for _, end in times[:-1])]


def test_eight_follow_the_service():
    def work(_: int) -> list[tuple[int, int]]:
        with cpuledger.intervals(0.1) as own:
            found = [next(own) for _ in range(4)]
        assert all(one.imbalance_ns == 0 for one in found)
        return [(one.start_ns, one.end_ns) for one in found]

    for times in together(work):
        assert all(before[1] == after[0] for before, after in zip(times, times[1:]))


def test_one_of_eight_begins_a_measurement_and_one_ends_it(burn):
    for _ in range(3):
        shared = cpuledger.measure()

        def begin(_: int) -> bool:
            try:
                return shared.__enter__() is shared
            except RuntimeError as error:
                assert "begun already" in str(error)
                return False

        assert sorted(together(begin)) == [False] * (THREADS - 1) + [True]
        burn(0.05)

        def end(_: int) -> int | None:
            shared.__exit__(None, None, None)
            # Who has not ended it may be earlier.
            return getattr(shared, "cpu_ns", None)

        found = set(together(end)) - {None}
        assert found == {shared.cpu_ns} and shared.cpu_ns > 45_000_000
        assert shared.user_ns + shared.system_ns + shared.stolen_ns == shared.cpu_ns
    # It may be used once more.
    with shared:
        with pytest.raises(RuntimeError, match="begun already"):
            shared.__enter__()
        with pytest.raises(AttributeError, match="has ended"):
            shared.cpu_ns
    assert shared.end_ns > shared.start_ns


def test_eight_measurements_at_once_have_the_same_children():
    measured = threading.Barrier(THREADS, timeout=MOST_S / 2)
    code = "import time\nwhile time.process_time() < 0.1: pass"

    def work(number: int) -> cpuledger.measure:
        with cpuledger.measure() as own:
            measured.wait()
            if number == 0:
                subprocess.run([sys.executable, "-c", code], check=True)
            measured.wait()
        return own

    for own in together(work):
        assert own.cpu_ns > 95_000_000 and own.processes >= 1 and own.without_books_ns == 0
        assert own.user_ns + own.system_ns + own.stolen_ns == own.cpu_ns


def test_a_measuring_is_ended_once():
    measuring = cpuledger._cpuledger.Measuring()

    def end(_: int) -> object:
        try:
            return measuring.end()["end_ns"]
        except RuntimeError as error:
            return str(error)

    found = together(end)
    assert found.count("the measurement has ended already") == THREADS - 1


def test_a_process_has_one_listing_for_each_block():
    shared = cpuledger.Process()

    def work(number: int) -> None:
        for _ in range(20):
            with shared.oneshot():
                first = shared.cpu_times()
                begin = time.thread_time()
                while time.thread_time() < begin + 0.002:
                    pass
                assert shared.cpu_times() == first

    together(work)


def test_each_call_of_process_iter_has_its_own_attributes(children):
    wanted = [["name"], ["ppid", "username"], ["cpu_times"], ["num_threads"]]

    def work(number: int) -> list[dict[str, Any]]:
        names = wanted[number % len(wanted)]
        found = {}
        for _ in range(5):
            found = {one.pid: one for one in cpuledger.process_iter(names)}
            time.sleep(0)
            assert all(list(one.info) == names for one in found.values())
        return [found[child.pid].info for child in children]

    found = together(work)
    assert all(info == found[number % len(wanted)] for number, info in enumerate(found))
