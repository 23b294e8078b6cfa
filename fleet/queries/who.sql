-- Who ran at :at, and on which host? The :limit tasks with the most CPU time in the intervals that :at is in.
WITH spans AS (
    SELECT host, recording, sequence, capacity_ns
    FROM intervals
    WHERE date >= :at_date_before AND date <= :at_date AND time <= :at AND end_time > :at
), ran AS (
    SELECT host, recording, sequence, comm, pid, euid, self_ns AS cpu_ns FROM usage WHERE date >= :at_date_before AND date <= :at_date
    UNION ALL
    SELECT host, recording, sequence, comm, pid, euid, cpu_ns FROM exited WHERE date >= :at_date_before AND date <= :at_date
)
SELECT ran.host AS host, ran.comm AS command, ran.pid AS pid, ran.euid AS user_id, SUM(ran.cpu_ns) AS cpu_ns, MAX(spans.capacity_ns) AS capacity_ns
FROM ran JOIN spans ON ran.host = spans.host AND ran.recording = spans.recording AND ran.sequence = spans.sequence
WHERE ran.cpu_ns > 0
GROUP BY ran.host, ran.comm, ran.pid, ran.euid
ORDER BY cpu_ns DESC, host, command, pid LIMIT :limit
