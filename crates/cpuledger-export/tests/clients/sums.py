"""Prints what the tables of an export add up to, as the engine of the first argument says. The queries are those of docs/export.md."""

import json
import sys

engine, folder = sys.argv[1:]

BY = """
SELECT {key} AS k, SUM(ns) AS ns FROM (
    SELECT {of} AS {key}, self_ns AS ns FROM usage
    UNION ALL SELECT {of} AS {key}, cpu_ns AS ns FROM exited
    UNION ALL SELECT {lost} AS {key}, unidentified_ns AS ns FROM intervals
) AS parts GROUP BY {key}"""
COMMANDS = BY.format(key="command", of="comm", lost="'(unidentified)'")
USERS = BY.format(key="user_id", of="COALESCE(euid, -1)", lost="-1")
INTERVALS = "SELECT sequence AS k, SUM(cpu_ns) AS ns FROM usage GROUP BY recording, sequence"
PARTS = """
SELECT (SELECT SUM(cpu_ns) FROM usage) + (SELECT SUM(idle_ns) + SUM(unattributed_ns) FROM intervals) AS parts,
       (SELECT SUM(capacity_ns) FROM intervals) AS capacity"""
DAYS = "SELECT COUNT(*) AS n FROM usage WHERE host IS NULL OR {date} <> {day}"


def sql(rows, first):
    """Sums by queries: `rows` gives the rows of one as tuples of Python."""
    (parts, capacity), = rows(PARTS)
    return {
        "by_command": {str(k): int(ns) for k, ns in rows(COMMANDS)},
        "by_user": {str(k): int(ns) for k, ns in rows(USERS)},
        "by_interval": {str(k): int(ns) for k, ns in rows(INTERVALS)},
        "parts": int(parts),
        "capacity": int(capacity),
        "first_us": int(rows(first)[0][0]),
    }


def duckdb_sums():
    import duckdb

    connection = duckdb.connect()
    for table in ["usage", "exited", "intervals"]:
        connection.execute(
            f"CREATE VIEW {table} AS FROM read_parquet('{folder}/{table}/**/*.parquet', hive_partitioning = true)")
    rows = lambda query: connection.execute(query).fetchall()
    wrong = DAYS.format(date="date", day="CAST(time AT TIME ZONE 'UTC' AS DATE)")
    assert rows(wrong) == [(0,)], rows(wrong)
    return sql(rows, "SELECT epoch_us(MIN(time)) FROM intervals")


def chdb_sums():
    from chdb import session

    connection = session.Session()
    for table in ["usage", "exited", "intervals"]:
        connection.query(
            f"CREATE VIEW {table} AS SELECT * FROM file('{folder}/{table}/*/*/*.parquet', Parquet)")

    def rows(query):
        lines = str(connection.query(query, "JSONCompactEachRow")).splitlines()
        return [tuple(json.loads(line)) for line in lines if line]

    return sql(rows, "SELECT toUnixTimestamp64Micro(MIN(time)) FROM intervals")


def spark_sums():
    from pyspark.sql import SparkSession

    spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
             .config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
             .config("spark.sql.session.timeZone", "UTC").getOrCreate())
    for table in ["usage", "exited", "intervals"]:
        spark.read.parquet(f"{folder}/{table}").createOrReplaceTempView(table)
    rows = lambda query: [tuple(row) for row in spark.sql(query).collect()]
    wrong = DAYS.format(date="date", day="CAST(time AS DATE)")
    assert rows(wrong) == [(0,)], rows(wrong)
    sums = sql(rows, "SELECT unix_micros(MIN(time)) FROM intervals")
    spark.stop()
    return sums


def polars_sums():
    import polars as pl

    usage, exited, intervals = (
        pl.scan_parquet(f"{folder}/{table}/**/*.parquet", hive_partitioning=True)
        for table in ["usage", "exited", "intervals"])

    def by(of, lost):
        parts = pl.concat([
            usage.select(of.alias("k"), pl.col("self_ns").alias("ns")),
            exited.select(of.alias("k"), pl.col("cpu_ns").alias("ns")),
            intervals.select(lost.alias("k"), pl.col("unidentified_ns").alias("ns")),
        ])
        return {str(k): ns for k, ns in parts.group_by("k").agg(pl.col("ns").sum()).collect().rows()}

    one = lambda frame: frame.collect().row(0)
    (attributed,) = one(usage.select(pl.col("cpu_ns").sum()))
    idle, unattributed, capacity, first = one(intervals.select(
        pl.col("idle_ns").sum(), pl.col("unattributed_ns").sum(), pl.col("capacity_ns").sum(),
        pl.col("time").min().dt.epoch("us")))
    of_intervals = usage.group_by("recording", "sequence").agg(pl.col("cpu_ns").sum()).collect().rows()
    return {
        "by_command": by(pl.col("comm").cast(pl.String), pl.lit("(unidentified)")),
        "by_user": by(pl.col("euid").fill_null(-1), pl.lit(-1, dtype=pl.Int64)),
        "by_interval": {str(sequence): ns for _, sequence, ns in of_intervals},
        "parts": attributed + idle + unattributed,
        "capacity": capacity,
        "first_us": first,
    }


def pandas_sums():
    import pandas as pd

    # Columns of numbers that may be absent stay integers.
    usage, exited, intervals = (
        pd.read_parquet(f"{folder}/{table}", dtype_backend="pyarrow")
        for table in ["usage", "exited", "intervals"])

    def by(column, type_of, absent, lost):
        parts = [(usage[column], usage["self_ns"]), (exited[column], exited["cpu_ns"])]
        keys = pd.concat([key.astype(type_of).fillna(absent) for key, _ in parts], ignore_index=True)
        ns = pd.concat([ns for _, ns in parts], ignore_index=True)
        sums = {str(k): int(ns) for k, ns in ns.groupby(keys).sum().items()}
        sums[lost] = sums.get(lost, 0) + int(intervals["unidentified_ns"].sum())
        return sums

    of_intervals = usage.groupby(["recording", "sequence"], observed=True)["cpu_ns"].sum()
    return {
        "by_command": by("comm", "string[pyarrow]", "", "(unidentified)"),
        "by_user": by("euid", "int64[pyarrow]", -1, "-1"),
        "by_interval": {str(key[1]): int(ns) for key, ns in of_intervals.items()},
        "parts": int(usage["cpu_ns"].sum() + intervals["idle_ns"].sum() + intervals["unattributed_ns"].sum()),
        "capacity": int(intervals["capacity_ns"].sum()),
        "first_us": int(intervals["time"].min().value // 1000),
    }


def pyarrow_sums():
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    usage, exited, intervals = (
        ds.dataset(f"{folder}/{table}", partitioning="hive").to_table() for table in ["usage", "exited", "intervals"])
    assert str(usage.schema.field("time").type) == "timestamp[us, tz=UTC]", usage.schema
    assert str(usage.schema.field("cpu_ns").type) == "int64", usage.schema

    def by(column, kind, absent, lost):
        sums = {}
        for table, ns in [(usage, "self_ns"), (exited, "cpu_ns")]:
            table = table.append_column("k", pc.fill_null(table[column].cast(kind), absent))
            grouped = table.group_by("k").aggregate([(ns, "sum")])
            for row in grouped.to_pylist():
                sums[str(row["k"])] = sums.get(str(row["k"]), 0) + row[f"{ns}_sum"]
        sums[lost] = sums.get(lost, 0) + pc.sum(intervals["unidentified_ns"]).as_py()
        return sums

    of_intervals = usage.group_by(["recording", "sequence"]).aggregate([("cpu_ns", "sum")]).to_pylist()
    total = lambda table, column: pc.sum(table[column]).as_py()
    return {
        "by_command": by("comm", "string", "", "(unidentified)"),
        "by_user": by("euid", "int64", -1, "-1"),
        "by_interval": {str(row["sequence"]): row["cpu_ns_sum"] for row in of_intervals},
        "parts": total(usage, "cpu_ns") + total(intervals, "idle_ns") + total(intervals, "unattributed_ns"),
        "capacity": total(intervals, "capacity_ns"),
        "first_us": pc.min(intervals["time"]).cast("int64").as_py(),
    }


print(json.dumps({"duckdb": duckdb_sums, "chdb": chdb_sums, "spark": spark_sums, "polars": polars_sums,
                  "pandas": pandas_sums, "pyarrow": pyarrow_sums}[engine]()))
