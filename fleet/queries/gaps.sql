-- Which hosts have gaps in their books? Time without any interval, time that was not attributed, and deaths that were not reported.
WITH ordered AS (
    SELECT host, boot_id, start_ns, end_ns, unattributed_ns, missed_exits,
           LAG(end_ns) OVER (PARTITION BY host, boot_id ORDER BY start_ns) AS before_ns,
           ROW_NUMBER() OVER (PARTITION BY host, boot_id ORDER BY start_ns) AS place
    FROM intervals
    WHERE date >= :since_date AND date <= :until_date AND time >= :since AND time < :until
), sums AS (
    SELECT host, COUNT(*) AS intervals,
           SUM(CASE WHEN place > 1 AND start_ns > before_ns THEN 1 ELSE 0 END) AS gaps,
           SUM(CASE WHEN place > 1 AND start_ns > before_ns THEN CAST(COALESCE(start_ns - before_ns, 0) AS DECIMAL(38, 0)) ELSE 0 END) AS gap_ns,
           SUM(CAST(COALESCE(unattributed_ns, 0) AS DECIMAL(38, 0))) AS unattributed_ns,
           SUM(COALESCE(missed_exits, 0)) AS missed_exits
    FROM ordered GROUP BY host
)
SELECT host, intervals, gaps, gap_ns, unattributed_ns, missed_exits FROM sums
WHERE gaps > 0 OR unattributed_ns > 0 OR missed_exits > 0
ORDER BY gap_ns DESC, unattributed_ns DESC, host
