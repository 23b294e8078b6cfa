"""The same integers in pandas, polars, pyarrow and DuckDB as in JSON."""

from __future__ import annotations

import os
import time
import tracemalloc

import duckdb
import pandas
import polars
import pyarrow
import pytest

import cpuledger

NAMES = ("processes", "tasks", "exited", "blocked")


@pytest.fixture(scope="module")
def interval() -> cpuledger.Interval:
    with cpuledger.intervals(0.5) as intervals:
        return next(intervals)


@pytest.mark.parametrize("name", NAMES)
def test_pyarrow(interval, name):
    table = pyarrow.table(getattr(interval, name))
    table.validate(full=True)
    assert table.to_pylist() == interval.to_dict()[name]


@pytest.mark.parametrize("name", NAMES)
def test_polars(interval, name):
    frame = polars.DataFrame(getattr(interval, name))
    assert frame.to_dicts() == interval.to_dict()[name]
    assert all(kind in (polars.Int64, polars.String, polars.Boolean) for kind in frame.dtypes)


@pytest.mark.parametrize("name", NAMES)
def test_duckdb(interval, name):
    rows = getattr(interval, name)
    found = duckdb.sql("SELECT * FROM rows")
    expected = interval.to_dict()[name]
    assert [dict(zip(found.columns, row)) for row in found.fetchall()] == expected


@pytest.mark.parametrize("name", NAMES)
def test_pandas(interval, name):
    frame = pandas.DataFrame.from_arrow(getattr(interval, name))
    expected = interval.to_dict()[name]
    assert len(frame) == len(expected)
    for key in frame.columns:
        values = [row[key] for row in expected]
        own = [None if pandas.isna(value) else value for value in frame[key].tolist()]
        # A column with unknown values is of doubles in pandas: integers below 2^53 are exact in them.
        assert own == values, key


def test_a_schema_and_no_rows(interval):
    rows = interval.processes
    assert pyarrow.schema(rows).names == rows.columns
    empty = cpuledger.table([], "processes")
    assert len(empty) == 0 and empty.start_ns is None
    assert pyarrow.table(empty).num_rows == 0
    assert polars.DataFrame(empty).columns == empty.columns
    # No columns: rows all the same.
    assert pyarrow.table(rows.select()).num_columns == 0


def test_batches_have_the_rows_of_many_intervals(interval):
    many = cpuledger.table([interval] * 2_000, "processes")
    table = pyarrow.table(many.select("start_ns", "pid", "comm", "cpu_ns"))
    assert table.num_rows == len(many) == 2_000 * len(interval.processes)
    assert pyarrow.compute.sum(table["cpu_ns"]).as_py() == 2_000 * interval.attributed_ns
    assert table["pid"].to_pylist() == [row.pid for row in interval.processes] * 2_000
    sizes = [batch.num_rows for batch in table.to_batches()]
    assert max(sizes) <= 65_536 and sum(sizes[:-1]) == 65_536 * (len(sizes) - 1)


def test_a_consumer_keeps_the_memory(interval):
    frame = polars.DataFrame(cpuledger.table([interval] * 100, "processes").select("pid", "comm"))
    expected = [(row.pid, row.comm) for row in interval.processes] * 100
    assert frame.rows() == expected


@pytest.mark.parametrize("name", NAMES)
def test_recorded_columns_are_those_of_rows(recording, name):
    intervals = list(cpuledger.read(recording))
    for one in intervals:
        if getattr(one, name) is not None:
            assert pyarrow.table(getattr(one, name)).to_pylist() == one.to_dict()[name]
    known = [one for one in intervals if getattr(one, name) is not None]
    together = pyarrow.table(cpuledger.table(known, name)).to_pylist()
    expected = [
        {"start_ns": one.start_ns, "end_ns": one.end_ns, **row} for one in known for row in one.to_dict()[name]
    ]
    assert together == expected
    # A value is the same by each way to it.
    rows = [row.to_dict() for one in known for row in getattr(one, name)]
    for column in cpuledger.table(known, name).columns[2:]:
        assert cpuledger.table(known, name).column(column) == [row[column] for row in rows], column


def test_rows_of_batches_are_where_they_belong(interval):
    rows = interval.exited if interval.exited else interval.tasks
    name = "exited" if interval.exited else "tasks"
    count = 200_000 // len(rows) + 1
    table = pyarrow.table(cpuledger.table([interval] * count, name).select("tid", "comm", "uid", "unit"))
    assert table.slice(65_536 - 5, len(rows)).num_rows == len(rows)
    expected = [{key: row[key] for key in table.column_names} for row in interval.to_dict()[name]] * count
    assert table.to_pylist() == expected


def test_a_million_rows_are_handed_over_without_an_object_for_each(interval):
    count = 1_000_000 // len(interval.processes) + 1
    table = cpuledger.table([interval] * count, "processes")
    assert len(table) >= 1_000_000
    begin, begin_wall = time.process_time(), time.perf_counter()
    table.__arrow_c_stream__()
    made_s, made_wall_s = time.process_time() - begin, time.perf_counter() - begin_wall
    times_s = []
    for _ in range(10):
        begin = time.process_time()
        frame = polars.DataFrame(table)
        times_s.append(time.process_time() - begin)
    assert frame.height == len(table)
    assert frame["cpu_ns"].sum() == count * interval.attributed_ns
    few = ["start_ns", "pid", "comm", "cpu_ns"]
    # What Python has already, a tenth of the rows.
    rows = [row.to_dict() for row in interval.processes]
    objects = [(interval.start_ns, row["pid"], row["comm"], row["cpu_ns"]) for row in rows] * (count // 10)
    few_s, objects_s = [], []
    for _ in range(5):
        begin = time.process_time()
        polars.DataFrame(table.select(*few))
        few_s.append(time.process_time() - begin)
        begin = time.process_time()
        polars.DataFrame(objects, schema=few, orient="row")
        objects_s.append((time.process_time() - begin) * len(table) / len(objects))
    print(
        f"\n{len(table):,} rows of {len(table.columns)} columns: made in {made_s * 1e3:.0f} ms of CPU time, {made_wall_s * 1e3:.0f} ms; handed over in "
        f"{min(times_s) * 1e3:.1f} ms; 4 columns, made and handed over: {min(few_s) * 1e3:.0f} ms, as objects of Python {min(objects_s) * 1e3:.0f} ms"
    )
    # Handed over, not copied: a fraction of what making them takes.
    assert min(times_s) < made_s / 4
    # What Python allocates does not grow with the rows: objects for those of one batch would take over a megabyte.
    tracemalloc.start()
    polars.DataFrame(table.select(*few))
    python_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert python_bytes < 256 * 1024, python_bytes
    if os.environ.get("CPULEDGER_TEST_FULL"):
        assert min(few_s) < min(objects_s) / 4
        assert min(few_s) <= 0.05
