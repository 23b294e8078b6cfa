-- All CPU time of a fleet as one view: each nanosecond of the capacity is in exactly one row, under the name of the task that used it.
-- The text is the same for DuckDB, ClickHouse and Spark. It stands on three views of what `cpuledger export` wrote: usage, exited, intervals.
CREATE OR REPLACE VIEW cpu_time AS
SELECT date, host, time, 'task' AS part, comm AS command, euid AS user_id, self_ns AS cpu_ns FROM usage
UNION ALL
SELECT date, host, time, 'task' AS part, comm AS command, euid AS user_id, cpu_ns FROM exited
UNION ALL
SELECT date, host, time, 'unidentified' AS part, '(unidentified)' AS command, NULL AS user_id, unidentified_ns AS cpu_ns FROM intervals
UNION ALL
SELECT date, host, time, 'idle' AS part, '(idle)' AS command, NULL AS user_id, idle_ns AS cpu_ns FROM intervals
UNION ALL
SELECT date, host, time, 'unattributed' AS part, '(unattributed)' AS command, NULL AS user_id, unattributed_ns AS cpu_ns FROM intervals
