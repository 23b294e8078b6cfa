-- All CPU time of a fleet as one view: each nanosecond of the capacity is in exactly one row, under the name of the task that used it.
-- The text is the same for DuckDB, ClickHouse and Spark. It stands on three views of what `cpuledger export` wrote: usage, exited, intervals.
-- A task is in no pod ('(none)') where its cgroup is known and no container without a name; else that is not known ('(unknown)').
CREATE OR REPLACE VIEW cpu_time AS
SELECT date, host, time, 'task' AS part, comm AS command, euid AS user_id, COALESCE(unit, '(unknown)') AS unit_name,
       CASE WHEN pod IS NOT NULL THEN pod WHEN cgroup IS NULL OR nameless IS NOT NULL THEN '(unknown)' ELSE '(none)' END AS pod_name,
       namespace, container, image, self_ns AS cpu_ns FROM usage
UNION ALL
SELECT date, host, time, 'task' AS part, comm AS command, euid AS user_id, COALESCE(unit, '(unknown)') AS unit_name,
       CASE WHEN pod IS NOT NULL THEN pod WHEN cgroup IS NULL OR nameless IS NOT NULL THEN '(unknown)' ELSE '(none)' END AS pod_name,
       namespace, container, image, cpu_ns FROM exited
UNION ALL
SELECT date, host, time, 'unidentified' AS part, '(unidentified)' AS command, NULL AS user_id, '(unidentified)' AS unit_name,
       '(unidentified)' AS pod_name, NULL AS namespace, NULL AS container, NULL AS image, unidentified_ns AS cpu_ns FROM intervals
UNION ALL
SELECT date, host, time, 'idle' AS part, '(idle)' AS command, NULL AS user_id, '(idle)' AS unit_name,
       '(idle)' AS pod_name, NULL AS namespace, NULL AS container, NULL AS image, idle_ns AS cpu_ns FROM intervals
UNION ALL
SELECT date, host, time, 'unattributed' AS part, '(unattributed)' AS command, NULL AS user_id, '(unattributed)' AS unit_name,
       '(unattributed)' AS pod_name, NULL AS namespace, NULL AS container, NULL AS image, unattributed_ns AS cpu_ns FROM intervals
