-- Tables of ClickHouse for the exports of a fleet, with sums by hour that are made when a day is loaded: docs/fleet.md.
-- `:function` and `:tables` stand for where an export is: `s3` and an address, or `file` and a folder. Its columns become those of the tables.
SET use_hive_partitioning = 0;
CREATE DATABASE IF NOT EXISTS cpuledger;

-- A day is a partition. It is loaded into the tables whose names end in `_day`, and replaces the partition as a whole: so that it may be loaded
-- again, and no row is there twice.
CREATE TABLE IF NOT EXISTS cpuledger.intervals ENGINE = MergeTree PARTITION BY date ORDER BY (host, time) EMPTY AS
SELECT toDate('2000-01-01') AS date, CAST('' AS LowCardinality(String)) AS host, * REPLACE (assumeNotNull(time) AS time)
FROM :function(':tables/intervals/*/*/*.parquet', 'Parquet');

CREATE TABLE IF NOT EXISTS cpuledger.usage ENGINE = MergeTree PARTITION BY date ORDER BY (host, time) EMPTY AS
SELECT toDate('2000-01-01') AS date, CAST('' AS LowCardinality(String)) AS host, * REPLACE (assumeNotNull(time) AS time)
FROM :function(':tables/usage/*/*/*.parquet', 'Parquet');

CREATE TABLE IF NOT EXISTS cpuledger.exited ENGINE = MergeTree PARTITION BY date ORDER BY (host, time) EMPTY AS
SELECT toDate('2000-01-01') AS date, CAST('' AS LowCardinality(String)) AS host, * REPLACE (assumeNotNull(time) AS time)
FROM :function(':tables/exited/*/*/*.parquet', 'Parquet');

CREATE TABLE IF NOT EXISTS cpuledger.hours (
    date Date, host LowCardinality(String), hour DateTime64(6, 'UTC'), part LowCardinality(String), command String, user_id Nullable(Int64),
    unit_name String, pod_name String, namespace Nullable(String), container Nullable(String), image Nullable(String), cpu_ns Int64
) ENGINE = SummingMergeTree(cpu_ns) PARTITION BY date
ORDER BY (host, hour, part, command, user_id, unit_name, pod_name, namespace, container, image) SETTINGS allow_nullable_key = 1;

CREATE TABLE IF NOT EXISTS cpuledger.intervals_day AS cpuledger.intervals;
CREATE TABLE IF NOT EXISTS cpuledger.usage_day AS cpuledger.usage;
CREATE TABLE IF NOT EXISTS cpuledger.exited_day AS cpuledger.exited;
CREATE TABLE IF NOT EXISTS cpuledger.hours_day AS cpuledger.hours;

-- The parts are those of cpu_time.sql.
CREATE MATERIALIZED VIEW IF NOT EXISTS cpuledger.hours_of_usage TO cpuledger.hours_day AS
SELECT date, host, toDateTime64(toStartOfHour(time), 6, 'UTC') AS hour, 'task' AS part, COALESCE(comm, '') AS command, euid AS user_id,
       COALESCE(unit, '(unknown)') AS unit_name,
       CASE WHEN pod IS NOT NULL THEN pod WHEN cgroup IS NULL OR nameless IS NOT NULL THEN '(unknown)' ELSE '(none)' END AS pod_name,
       namespace, container, image, SUM(COALESCE(self_ns, 0)) AS cpu_ns
FROM cpuledger.usage_day GROUP BY date, host, hour, part, command, user_id, unit_name, pod_name, namespace, container, image;

CREATE MATERIALIZED VIEW IF NOT EXISTS cpuledger.hours_of_exited TO cpuledger.hours_day AS
SELECT date, host, toDateTime64(toStartOfHour(time), 6, 'UTC') AS hour, 'task' AS part, COALESCE(comm, '') AS command, euid AS user_id,
       COALESCE(unit, '(unknown)') AS unit_name,
       CASE WHEN pod IS NOT NULL THEN pod WHEN cgroup IS NULL OR nameless IS NOT NULL THEN '(unknown)' ELSE '(none)' END AS pod_name,
       namespace, container, image, SUM(COALESCE(exited_day.cpu_ns, 0)) AS cpu_ns
FROM cpuledger.exited_day GROUP BY date, host, hour, part, command, user_id, unit_name, pod_name, namespace, container, image;

CREATE MATERIALIZED VIEW IF NOT EXISTS cpuledger.hours_of_intervals TO cpuledger.hours_day AS
SELECT date, host, toDateTime64(toStartOfHour(time), 6, 'UTC') AS hour, parts.1 AS part, concat('(', parts.1, ')') AS command,
       CAST(NULL AS Nullable(Int64)) AS user_id, command AS unit_name, command AS pod_name, CAST(NULL AS Nullable(String)) AS namespace,
       CAST(NULL AS Nullable(String)) AS container, CAST(NULL AS Nullable(String)) AS image, SUM(COALESCE(parts.2, 0)) AS cpu_ns
FROM cpuledger.intervals_day
ARRAY JOIN [('unidentified', unidentified_ns), ('idle', idle_ns), ('unattributed', unattributed_ns)] AS parts
GROUP BY date, host, hour, part;

-- What the queries of fleet/queries/ ask: here of whole hours.
CREATE VIEW IF NOT EXISTS cpuledger.cpu_time AS
SELECT date, host, hour AS time, part, command, user_id, unit_name, pod_name, namespace, container, image, cpu_ns FROM cpuledger.hours;
