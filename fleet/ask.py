#!/usr/bin/env python3
"""Asks the tables of a fleet a question: fleet/queries/NAME.sql, by DuckDB, ClickHouse (chdb) or Spark.

usage: ask.py --engine duckdb|clickhouse|spark --tables DIR_OR_URL QUERY [--since T] [--until T] [--before-since T] [--before-until T]
              [--at T] [--name NAME] [--limit N] [--master URL]

DIR is what `cpuledger export --output DIR` wrote, of one host or of many. Times are UTC: 2026-11-27 or 2026-11-27T03:12:00.
The answer is a line of JSON for each row, with integers as they are. See docs/fleet.md.
"""

import argparse
import datetime
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TABLES = ["usage", "exited", "intervals"]


def instant(text):
    """A time of the command line, in UTC and whole seconds, as all three engines have them."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time: write 2026-11-27 or 2026-11-27T03:12:00") from error
    if time.tzinfo is not None:
        time = time.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    if time.microsecond:
        raise argparse.ArgumentTypeError(f"'{text}' has a part of a second: write whole seconds")
    return time


def literals(options):
    """The SQL text for each parameter."""
    # In ClickHouse and Spark a backslash in a text escapes what follows; in DuckDB it is a letter like others.
    name = options.name if options.engine == "duckdb" else options.name.replace("\\", "\\\\").replace("'", "\\'")
    quoted = name.replace("'", "''") if options.engine == "duckdb" else name
    values = {"limit": str(options.limit), "name": f"'{quoted}'"}
    for key in ["since", "until", "before_since", "before_until", "at"]:
        time = getattr(options, key)
        text = f"'{time:%Y-%m-%d %H:%M:%S}'"
        # TIMESTAMP of ClickHouse is whole seconds, and it compares times of files by these.
        is_clickhouse = options.engine == "clickhouse"
        values[key] = f"toDateTime64({text}, 6, 'UTC')" if is_clickhouse else f"CAST({text} AS TIMESTAMP)"
        values[key + "_date"] = f"CAST('{time:%Y-%m-%d}' AS DATE)"
    # An interval that has the instant may have begun the day before.
    day_before = options.at - datetime.timedelta(days=1)
    values["at_date_before"] = f"CAST('{day_before:%Y-%m-%d}' AS DATE)"
    return values


def text_of(name, options):
    """A query with its parameters."""
    path = HERE / "queries" / f"{name}.sql"
    if not path.is_file():
        names = ", ".join(sorted(query.stem for query in path.parent.glob("*.sql")))
        sys.exit(f"ask.py: there is no query '{name}'; there are {names}")
    values = literals(options)
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("--"))
    return re.sub(r":([a-z_]+)", lambda found: values[found.group(1)], text)


def duckdb_rows(options, query):
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        path = f"{options.tables}/{table}/**/*.parquet".replace("'", "''")
        connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{path}', hive_partitioning = true, union_by_name = true)")
    connection.execute((HERE / "cpu_time.sql").read_text())
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def clickhouse_rows(options, query):
    from chdb import session

    connection = session.Session()
    connection.query("SET session_timezone = 'UTC'")
    for table in TABLES:
        path = f"{options.tables}/{table}/*/*/*.parquet".replace("'", "''")
        # Names of folders are percent-encoded; the other engines decode them by themselves.
        host = "REPLACE (decodeURLComponent(host) AS host)"
        connection.query(f"CREATE VIEW {table} AS SELECT * {host} FROM file('{path}', Parquet)")
    connection.query((HERE / "cpu_time.sql").read_text())
    answer = str(connection.query(query + " SETTINGS output_format_json_quote_decimals = 1", "JSONEachRow"))
    return [json.loads(line) for line in answer.splitlines() if line]


def spark_rows(options, query):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("cpuledger").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.host", "127.0.0.1")
    spark = builder.master(options.master).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for table in TABLES:
        spark.read.option("mergeSchema", "true").parquet(f"{options.tables}/{table}").createOrReplaceTempView(table)
    # Views of files have no place in a catalog, so this one is temporary, too.
    spark.sql((HERE / "cpu_time.sql").read_text().replace("CREATE OR REPLACE VIEW", "CREATE OR REPLACE TEMPORARY VIEW"))
    rows = [row.asDict() for row in spark.sql(query).collect()]
    spark.stop()
    return rows


def plain(value):
    """A value as JSON has it: numbers as integers, times as text."""
    if value is None or isinstance(value, int):
        return value
    text = str(value)
    return int(text) if re.fullmatch(r"-?\d+", text) else text


ENGINES = {"duckdb": duckdb_rows, "clickhouse": clickhouse_rows, "spark": spark_rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("query", help="the name of a file of fleet/queries")
    parser.add_argument("--engine", choices=ENGINES, default="duckdb")
    parser.add_argument("--tables", required=True, help="what `cpuledger export` wrote")
    day = datetime.timedelta(days=1)
    midnight = datetime.datetime.now(datetime.timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    parser.add_argument("--since", type=instant, default=midnight - 7 * day, help="seven days ago, if not stated")
    parser.add_argument("--until", type=instant, default=midnight + day, help="the end of today, if not stated")
    parser.add_argument("--before-since", type=instant, default=midnight - 14 * day, help="of `compare`: 14 days ago, if not stated")
    parser.add_argument("--before-until", type=instant, default=midnight - 7 * day, help="of `compare`: 7 days ago, if not stated")
    parser.add_argument("--at", type=instant, default=midnight, help="of `who`: an instant")
    parser.add_argument("--name", default="", help="of `cost`: a command")
    parser.add_argument("--limit", type=int, default=20, help="rows, 20 if not stated")
    parser.add_argument("--master", default="local[2]", help="of Spark: its master, such as spark://127.0.0.1:7077")
    options = parser.parse_args()
    for row in ENGINES[options.engine](options, text_of(options.query, options)):
        print(json.dumps({key: plain(value) for key, value in row.items()}))


if __name__ == "__main__":
    main()
