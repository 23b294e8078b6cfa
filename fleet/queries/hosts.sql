-- Which hosts were busiest? Time in use, idle and unattributed, which add up to the capacity of each host.
SELECT host,
       SUM(CASE WHEN part IN ('task', 'unidentified') THEN CAST(cpu_ns AS DECIMAL(38, 0)) ELSE 0 END) AS used_ns,
       SUM(CASE WHEN part = 'idle' THEN CAST(cpu_ns AS DECIMAL(38, 0)) ELSE 0 END) AS idle_ns,
       SUM(CASE WHEN part = 'unattributed' THEN CAST(cpu_ns AS DECIMAL(38, 0)) ELSE 0 END) AS unattributed_ns
FROM cpu_time
WHERE date >= :since_date AND date <= :until_date AND time >= :since AND time < :until
GROUP BY host
ORDER BY used_ns DESC, host
