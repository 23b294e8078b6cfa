"""A recording, beside what the command line replays of it."""

from __future__ import annotations

import datetime
import json
import os
import subprocess

import pytest

import cpuledger


def test_it_has_what_the_command_line_replays(recording):
    program = os.environ["CPULEDGER_TEST_PROGRAM"]
    replayed = subprocess.run(
        [program, "top", "--replay", recording, "--batch", "--format", "json", "--threads"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    intervals = list(cpuledger.read(recording))
    assert len(intervals) == len(replayed) > 3
    for interval, line in zip(intervals, replayed):
        told = json.loads(line)
        own = interval.to_dict()
        assert interval.source == "replay" and interval.imbalance_ns == 0
        for name in ("processes", "tasks"):
            by_id = {row.get("tid", row["pid"]): row for row in own.pop(name)}
            for row in told.pop(name):
                assert by_id.pop(row.get("tid", row["pid"])) == row
            # The command line shows what ran.
            assert all(row["cpu_ns"] == 0 for row in by_id.values())
        assert sorted(map(str, own.pop("exited"))) == sorted(map(str, told.pop("exited")))
        own.pop("blocked"), told.pop("blocked")
        assert own == told


def test_a_span_and_longer_intervals(recording):
    all_of = list(cpuledger.read(recording))
    begin_ns, end_ns = cpuledger.read(recording).span_realtime_ns
    assert end_ns == all_of[-1].end_realtime_ns and begin_ns < all_of[0].end_realtime_ns
    merged = list(cpuledger.read(recording, length=3600))
    assert len(merged) < len(all_of)
    assert sum(one.attributed_ns for one in merged) == sum(one.attributed_ns for one in all_of)
    assert all(one.imbalance_ns == 0 for one in merged)
    middle_ns = (begin_ns + end_ns) // 2
    first = list(cpuledger.read(recording, until=middle_ns / 1e9))
    last = list(cpuledger.read(recording, since=middle_ns / 1e9))
    assert len(first) + len(last) == len(all_of) and first and last
    assert [one.end_ns for one in first + last] == [one.end_ns for one in all_of]
    as_utc = datetime.datetime.fromtimestamp(middle_ns / 1e9, datetime.timezone.utc)
    local = datetime.datetime.fromtimestamp(middle_ns / 1e9)
    for moment in (as_utc, local, as_utc.isoformat(), as_utc.isoformat().replace("+00:00", "Z")):
        assert len(list(cpuledger.read(recording, until=moment))) == len(first)
    ago = datetime.timedelta(microseconds=(end_ns - middle_ns) // 1000)
    assert len(list(cpuledger.read(recording, since=ago))) == len(last)


def test_each_iteration_begins_at_the_first(recording):
    read = cpuledger.read(recording)
    assert [one.end_ns for one in read] == [one.end_ns for one in read]
    table = cpuledger.table(read, "processes")
    assert sum(table.column("cpu_ns")) == sum(one.attributed_ns for one in read)


def test_what_is_wrong_is_said(recording, tmp_path):
    with pytest.raises(cpuledger.RecordingError):
        cpuledger.read(tmp_path / "none")
    with pytest.raises(ValueError, match="no time in it"):
        cpuledger.read(recording, since=20, until=10)
    with pytest.raises(ValueError, match="no recording has the time"):
        cpuledger.read(recording, since=-5)
    with pytest.raises(ValueError):
        cpuledger.read(recording, since="yesterday, perhaps")
    with pytest.raises(ValueError, match="`length`"):
        cpuledger.read(recording, length=-1)
