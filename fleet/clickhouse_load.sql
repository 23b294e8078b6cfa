-- Loads a day of a fleet's exports into the tables of clickhouse.sql, in the place of what they have of it. `:day` stands for it, as 2026-11-27; `:function`
-- and `:tables` for where the exports are, as there. Of two that load at the same time, one has to wait for the other.
SET use_hive_partitioning = 0;
TRUNCATE TABLE cpuledger.intervals_day;
TRUNCATE TABLE cpuledger.usage_day;
TRUNCATE TABLE cpuledger.exited_day;
TRUNCATE TABLE cpuledger.hours_day;

INSERT INTO cpuledger.intervals_day
SELECT toDate(':day') AS date, decodeURLComponent(extract(_path, '/host=([^/]+)/')) AS host, * REPLACE (assumeNotNull(time) AS time)
FROM :function(':tables/intervals/date=:day/*/*.parquet', 'Parquet');
INSERT INTO cpuledger.usage_day
SELECT toDate(':day') AS date, decodeURLComponent(extract(_path, '/host=([^/]+)/')) AS host, * REPLACE (assumeNotNull(time) AS time)
FROM :function(':tables/usage/date=:day/*/*.parquet', 'Parquet');
INSERT INTO cpuledger.exited_day
SELECT toDate(':day') AS date, decodeURLComponent(extract(_path, '/host=([^/]+)/')) AS host, * REPLACE (assumeNotNull(time) AS time)
FROM :function(':tables/exited/date=:day/*/*.parquet', 'Parquet');

ALTER TABLE cpuledger.intervals REPLACE PARTITION ':day' FROM cpuledger.intervals_day;
ALTER TABLE cpuledger.usage REPLACE PARTITION ':day' FROM cpuledger.usage_day;
ALTER TABLE cpuledger.exited REPLACE PARTITION ':day' FROM cpuledger.exited_day;
ALTER TABLE cpuledger.hours REPLACE PARTITION ':day' FROM cpuledger.hours_day;
