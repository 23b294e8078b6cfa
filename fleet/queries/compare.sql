-- What changed between two spans, such as two weeks? The :limit commands whose CPU time differs most: from :before_since to :before_until, and
-- from :since to :until.
WITH sums AS (
    SELECT command,
           SUM(CASE WHEN time >= :before_since AND time < :before_until THEN CAST(cpu_ns AS DECIMAL(38, 0)) ELSE 0 END) AS before_ns,
           SUM(CASE WHEN time >= :since AND time < :until THEN CAST(cpu_ns AS DECIMAL(38, 0)) ELSE 0 END) AS after_ns
    FROM cpu_time
    WHERE (date >= :before_since_date AND date <= :before_until_date) OR (date >= :since_date AND date <= :until_date)
    GROUP BY command
)
SELECT command, before_ns, after_ns, after_ns - before_ns AS change_ns FROM sums
ORDER BY ABS(after_ns - before_ns) DESC, command LIMIT :limit
