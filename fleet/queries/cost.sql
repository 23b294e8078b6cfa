-- What did the command :name, the unit :unit or the pod :pod cost, by day and host? A build is its compiler or its unit, a job its pod. Of several, what
-- is of each.
SELECT date, host, SUM(CAST(cpu_ns AS DECIMAL(38, 0))) AS cpu_ns
FROM cpu_time
WHERE part = 'task' AND date >= :since_date AND date <= :until_date AND time >= :since AND time < :until
    AND (:name IS NULL OR command = :name) AND (:unit IS NULL OR unit_name = :unit)
    AND (:pod IS NULL OR pod_name = :pod) AND (:namespace IS NULL OR namespace = :namespace)
GROUP BY date, host
ORDER BY date, cpu_ns DESC, host
