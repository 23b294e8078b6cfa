-- What did the command :name cost, by day and host? A build is its compiler, a job its interpreter.
SELECT date, host, SUM(CAST(cpu_ns AS DECIMAL(38, 0))) AS cpu_ns
FROM cpu_time
WHERE part = 'task' AND command = :name AND date >= :since_date AND date <= :until_date AND time >= :since AND time < :until
GROUP BY date, host
ORDER BY date, cpu_ns DESC, host
