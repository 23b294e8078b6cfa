-- Which commands used the CPUs of the fleet?
-- The first :limit, and the rest as one; with idle and unattributed time the column adds up to the capacity. A name that a task has given itself
-- is in no row but one of part 'task'.
WITH sums AS (
    SELECT command, part, SUM(CAST(cpu_ns AS DECIMAL(38, 0))) AS cpu_ns, COUNT(DISTINCT host) AS hosts
    FROM cpu_time
    WHERE date >= :since_date AND date <= :until_date AND time >= :since AND time < :until
    GROUP BY command, part
), ranked AS (
    SELECT command, part, cpu_ns, hosts, ROW_NUMBER() OVER (PARTITION BY part ORDER BY cpu_ns DESC, command) AS place FROM sums
), named AS (
    SELECT CASE WHEN part <> 'task' OR place <= :limit THEN command ELSE '(other)' END AS name,
           CASE WHEN part <> 'task' OR place <= :limit THEN part ELSE 'other' END AS kind, cpu_ns, hosts
    FROM ranked
)
SELECT name, kind AS part, SUM(cpu_ns) AS cpu_ns, MAX(hosts) AS hosts FROM named GROUP BY name, kind ORDER BY cpu_ns DESC, name, part
