#!/usr/bin/env python3
"""Asks the tables of a fleet a question: queries/NAME.sql beside this file, by DuckDB, ClickHouse (chdb) or Spark.

usage: ask.py --tables DIR|s3://BUCKET/PREFIX|database:NAME [--engine duckdb|clickhouse|spark] QUERY [--since T] [--until T] [--limit N]
              [--before-since T] [--before-until T] [--at T] [--name NAME] [--unit NAME] [--pod [NAMESPACE/]NAME]
              [--format jsonl|text] [--print-sql] [--master URL]

DIR is what `cpuledger export` wrote, of one host or of many. Times are UTC: 2026-11-27 or 2026-11-27T03:12:00. The answer is a line of JSON for
each row, with integers as they are. Object stores are reached as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,
AWS_ENDPOINT_URL and AWS_ALLOW_HTTP say. A database is one of ClickHouse, by clickhouse.sql: --print-sql prints what to ask it. DuckDB is the Python package, else the program `duckdb`; without both the SQL is printed.

Exit codes: 0 done, 1 the engine has refused, 2 wrong option, 3 the engine is not installed. See docs/fleet.md.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
DONE, REFUSED, NOT_INSTALLED = 0, 1, 3

# What the queries need of the tables. With it, no engine has to look into every file before it reads the first.
KEYS = {"time": "time", "recording": "text", "sequence": "number"}
NAMES = {"cgroup": "text", "unit": "text", "container": "text", "nameless": "text", "image": "text", "pod": "text", "namespace": "text"}
ROWS = {"comm": "text", "pid": "number", "euid": "number", **NAMES, "cpu_ns": "number"}
TABLES = {
    "usage": {**KEYS, **ROWS, "self_ns": "number"},
    "exited": {**KEYS, **ROWS},
    "intervals": {
        **KEYS, "end_time": "time", "boot_id": "text", "start_ns": "number", "end_ns": "number", "capacity_ns": "number", "idle_ns": "number",
        "unattributed_ns": "number", "unidentified_ns": "number", "missed_exits": "number"},
}


class NotInstalled(Exception):
    """The engine is not there; the sentence says how to get it."""


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


def quoted(text, engine):
    """A text as the SQL of an engine has it."""
    # In ClickHouse and Spark a backslash in a text escapes what follows; in DuckDB it is a letter like others.
    if engine == "duckdb":
        return "'" + text.replace("'", "''") + "'"
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def literals(options):
    """The SQL text for each parameter."""
    namespace, _, pod = (options.pod or "").rpartition("/")
    texts = {"name": options.name, "unit": options.unit, "pod": pod or None, "namespace": namespace or None}
    values = {key: "NULL" if text is None else quoted(text, options.engine) for key, text in texts.items()}
    values["limit"] = str(options.limit)
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


def text_of(path):
    """A file of SQL without its comments."""
    return "\n".join(line for line in path.read_text().splitlines() if not line.startswith("--"))


def query_of(options):
    """The query with its parameters."""
    values = literals(options)
    return re.sub(r":([a-z_]+)", lambda found: values[found.group(1)], text_of(HERE / "queries" / f"{options.query}.sql"))


class ObjectStore:
    """Where an object store is, and who asks it: by the variables that the command lines of AWS have, too."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.bucket, self.prefix = parts.netloc, parts.path.strip("/")
        get = os.environ.get
        self.key, self.secret, self.token = get("AWS_ACCESS_KEY_ID"), get("AWS_SECRET_ACCESS_KEY"), get("AWS_SESSION_TOKEN")
        self.region = get("AWS_REGION") or get("AWS_DEFAULT_REGION") or "us-east-1"
        self.endpoint = (get("AWS_ENDPOINT_URL_S3") or get("AWS_ENDPOINT_URL") or get("AWS_ENDPOINT") or "").rstrip("/")
        is_plain = self.endpoint.startswith("http://")
        if is_plain and get("AWS_ALLOW_HTTP", "").lower() not in ("1", "true"):
            sys.exit(f"ask.py: {self.endpoint} is not encrypted: use https://, or set AWS_ALLOW_HTTP=true")

    def url(self, table):
        """The folder of a table, by HTTP."""
        base = self.endpoint or f"https://s3.{self.region}.amazonaws.com"
        return "/".join(part for part in [base, self.bucket, self.prefix, table] if part)


def database_of(options):
    """The database of ClickHouse that has the tables already."""
    kind, _, name = options.tables.partition(":")
    return name if kind == "database" and re.fullmatch("[A-Za-z0-9_]+", name) else None


def store_of(options):
    return ObjectStore(options.tables) if options.tables.startswith("s3://") else None


def duckdb_secret(store):
    """What tells DuckDB of the store; it is not for the eyes of others."""
    members = {"TYPE": "s3", "KEY_ID": store.key, "SECRET": store.secret, "SESSION_TOKEN": store.token, "REGION": store.region}
    if store.endpoint:
        parts = urllib.parse.urlsplit(store.endpoint)
        members.update(ENDPOINT=parts.netloc, URL_STYLE="path", USE_SSL="true" if parts.scheme == "https" else "false")
    return "CREATE SECRET (" + ", ".join(f"{key} {quoted(text, 'duckdb')}" for key, text in members.items() if text) + ")"


def duckdb_statements(options):
    """What comes before the query."""
    yield "SET TimeZone = 'UTC'"
    for table, columns in TABLES.items():
        path = quoted(f"{options.tables.rstrip('/')}/{table}/**/*.parquet", "duckdb")
        names = ", ".join(columns)
        yield f"CREATE VIEW {table} AS SELECT date, host, {names} FROM read_parquet({path}, hive_partitioning = true, union_by_name = true)"
    yield text_of(HERE / "cpu_time.sql")


def duckdb_rows(options, query):
    store = store_of(options)
    begin = [duckdb_secret(store)] if store else []
    try:
        import duckdb
    except ImportError:
        return duckdb_program_rows([*begin, *duckdb_statements(options), query])
    connection = duckdb.connect()
    if store:
        try:
            connection.execute("LOAD httpfs")
        except duckdb.Error:
            connection.execute("INSTALL httpfs")
            connection.execute("LOAD httpfs")
    for statement in [*begin, *duckdb_statements(options)]:
        connection.execute(statement)
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def duckdb_program_rows(statements):
    """By the program of DuckDB, which loads what it needs for object stores by itself. Secrets are not in its command line."""
    # Root has the PATH of the user who called su, and a folder of that user may be in it.
    program = shutil.which("duckdb", path="/usr/local/bin:/usr/bin:/bin" if os.geteuid() == 0 else None)
    if program is None:
        raise NotInstalled("DuckDB is not installed: `pip install duckdb`, or put the program `duckdb` into PATH (for root: /usr/local/bin or /usr/bin)")
    done = subprocess.run([program, "-batch", "-bail", "-jsonlines"], input=";\n".join([*statements, ""]), text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


# Sums have more digits than a number of JSON keeps in many readers.
CLICKHOUSE_SETTINGS = " SETTINGS output_format_json_quote_decimals = 1"
CLICKHOUSE = {"time": "Nullable(DateTime64(6, 'UTC'))", "text": "Nullable(String)", "number": "Nullable(Int64)"}


def clickhouse_statements(options):
    store, database = store_of(options), database_of(options)
    yield "SET session_timezone = 'UTC'"
    if database:
        yield f"USE {database}"
        return
    yield "SET use_hive_partitioning = 0"
    for table, columns in TABLES.items():
        structure = quoted(", ".join(f"{name} {CLICKHOUSE[kind]}" for name, kind in columns.items()), "clickhouse")
        if store:
            path = quoted(store.url(table) + "/*/*/*.parquet", "clickhouse")
            who = [quoted(text, "clickhouse") for text in [store.key, store.secret, store.token] if text] or ["NOSIGN"]
            # What is printed has no secrets: a server has its own.
            members = [path, *([] if options.print_sql else who), "'Parquet'", structure]
            source = f"s3({', '.join(members)})"
        else:
            path = quoted(f"{options.tables.rstrip('/')}/{table}/*/*/*.parquet", "clickhouse")
            source = f"file({path}, 'Parquet', {structure})"
        # Folders are date=DATE and host=HOST, percent-encoded; the other engines decode them by themselves.
        date = "toDate(extract(_path, '/date=([^/]+)/')) AS date"
        host = "decodeURLComponent(extract(_path, '/host=([^/]+)/')) AS host"
        yield f"CREATE VIEW {table} AS SELECT *, {date}, {host} FROM {source}"
    yield text_of(HERE / "cpu_time.sql")


def clickhouse_rows(options, query):
    try:
        from chdb import session
    except ImportError as error:
        raise NotInstalled("chdb is not installed: `pip install chdb`; a server of ClickHouse takes what --print-sql prints") from error
    connection = session.Session()
    for statement in clickhouse_statements(options):
        connection.query(statement)
    answer = str(connection.query(query + CLICKHOUSE_SETTINGS, "JSONEachRow"))
    return [json.loads(line) for line in answer.splitlines() if line]


SPARK = {"time": "TIMESTAMP", "text": "STRING", "number": "BIGINT"}


def spark_rows(options, query):
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise NotInstalled("pyspark is not installed: `pip install pyspark`, and Java 17") from error
    builder = SparkSession.builder.appName("cpuledger").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    is_local = options.master.startswith("local") or "//127.0.0.1" in options.master
    if is_local:
        builder = builder.config("spark.driver.host", "127.0.0.1")
    spark = builder.master(options.master).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # Hadoop calls the client of S3 that it has kept `s3a`.
    tables = re.sub("^s3://", "s3a://", options.tables.rstrip("/"))
    for table, columns in TABLES.items():
        schema = ", ".join(f"{name} {SPARK[kind]}" for name, kind in columns.items()) + ", date DATE, host STRING"
        spark.read.schema(schema).parquet(f"{tables}/{table}").createOrReplaceTempView(table)
    # Views of files have no place in a catalog, so this one is temporary, too.
    spark.sql(text_of(HERE / "cpu_time.sql").replace("CREATE OR REPLACE VIEW", "CREATE OR REPLACE TEMPORARY VIEW"))
    rows = [row.asDict() for row in spark.sql(query).collect()]
    spark.stop()
    return rows


def plain(value):
    """A value as JSON has it: numbers as integers, times as text."""
    if value is None or isinstance(value, int):
        return value
    # Sums are decimals without a fraction, which some engines give as text or as a number with one.
    text = str(value)
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def as_text(rows):
    """Rows as columns: numbers to the right."""
    names = list(rows[0])
    cells = [names] + [["-" if row[name] is None else str(row[name]) for name in names] for row in rows]
    widths = [max(len(line[place]) for line in cells) for place in range(len(names))]
    is_number = [all(row[name] is None or isinstance(row[name], int) for row in rows) for name in names]
    for line in cells:
        placed = zip(line, widths, is_number)
        yield "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in placed).rstrip()


def printed_sql(options, query):
    """All statements as a script, without secrets."""
    statements = duckdb_statements if options.engine == "duckdb" else clickhouse_statements
    begin = "-- CREATE SECRET (TYPE s3, PROVIDER credential_chain);\n" if options.engine == "duckdb" and store_of(options) else ""
    settings = CLICKHOUSE_SETTINGS if options.engine == "clickhouse" else ""
    return begin + ";\n".join([*statements(options), query + settings, ""])


ENGINES = {"duckdb": duckdb_rows, "clickhouse": clickhouse_rows, "spark": spark_rows}


def arguments():
    names = sorted(path.stem for path in (HERE / "queries").glob("*.sql"))
    parser = argparse.ArgumentParser(prog="ask.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("query", choices=names, help="a file of queries/")
    parser.add_argument("--engine", choices=ENGINES, default="duckdb")
    parser.add_argument("--tables", required=True, help="what `cpuledger export` wrote")
    day = datetime.timedelta(days=1)
    midnight = datetime.datetime.now(datetime.timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    parser.add_argument("--since", type=instant, default=midnight - 7 * day, help="seven days ago, if not stated")
    parser.add_argument("--until", type=instant, default=midnight + day, help="the end of today, if not stated")
    parser.add_argument("--before-since", type=instant, default=midnight - 14 * day, help="of `compare`: 14 days ago, if not stated")
    parser.add_argument("--before-until", type=instant, default=midnight - 7 * day, help="of `compare`: 7 days ago, if not stated")
    parser.add_argument("--at", type=instant, default=midnight, help="of `who`: an instant")
    parser.add_argument("--name", help="of `cost`: a command")
    parser.add_argument("--unit", help="of `cost`: a unit of systemd")
    parser.add_argument("--pod", help="of `cost`: a pod, or NAMESPACE/POD")
    parser.add_argument("--limit", type=int, default=20, help="rows, 20 if not stated")
    parser.add_argument("--format", choices=["jsonl", "text"], default="jsonl", help="lines of JSON, or columns")
    parser.add_argument("--print-sql", action="store_true", help="print the SQL for DuckDB or ClickHouse, and ask nobody")
    parser.add_argument("--master", default="local[2]", help="of Spark: its master, such as spark://127.0.0.1:7077")
    options = parser.parse_args()
    if options.query == "cost" and not (options.name or options.unit or options.pod):
        parser.error("cost: of what? Name it by --name, --unit or --pod")
    if database_of(options) and not (options.engine == "clickhouse" and options.print_sql):
        parser.error("--tables database:NAME goes with --engine clickhouse --print-sql; clickhouse-client takes what that prints")
    if options.print_sql and options.engine == "spark":
        parser.error("--print-sql: Spark has no SQL of its own for the tables; docs/fleet.md has the lines of Python")
    return options


def main():
    options = arguments()
    query = query_of(options)
    if options.print_sql:
        print(printed_sql(options, query), end="")
        return DONE
    try:
        rows = ENGINES[options.engine](options, query)
    except NotInstalled as error:
        print(f"ask.py: {error}", file=sys.stderr)
        if options.engine == "duckdb":
            print("ask.py: this is the SQL, to be run where DuckDB is:", file=sys.stderr)
            print(printed_sql(options, query), end="")
        return NOT_INSTALLED
    except Exception as error:  # Each engine has its own.
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        print(f"ask.py: {options.engine}: {first}", file=sys.stderr)
        return REFUSED
    rows = [{key: plain(value) for key, value in row.items()} for row in rows]
    lines = (json.dumps(row) for row in rows) if options.format == "jsonl" else as_text(rows) if rows else []
    for line in lines:
        print(line)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
