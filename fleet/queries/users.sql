-- Which users used the CPUs of the fleet? A user is the number that the hosts have for it; NULL is unidentified, idle and unattributed time.
SELECT user_id, part, SUM(CAST(cpu_ns AS DECIMAL(38, 0))) AS cpu_ns, COUNT(DISTINCT host) AS hosts
FROM cpu_time
WHERE date >= :since_date AND date <= :until_date AND time >= :since AND time < :until
GROUP BY user_id, part
ORDER BY cpu_ns DESC, user_id, part
