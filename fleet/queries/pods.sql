-- Which pods used the CPUs of the fleet? A pod is its namespace and its name; one with replicas on several hosts is a pod on each.
-- The first :limit, and the rest as one; what is in no pod is one row, too. With idle and unattributed time the column adds up to the capacity.
WITH sums AS (
    SELECT COALESCE(namespace, '') AS space, pod_name, part, SUM(CAST(cpu_ns AS DECIMAL(38, 0))) AS cpu_ns, COUNT(DISTINCT host) AS hosts
    FROM cpu_time
    WHERE date >= :since_date AND date <= :until_date AND time >= :since AND time < :until
    GROUP BY COALESCE(namespace, ''), pod_name, part
), ranked AS (
    SELECT space, pod_name, part, cpu_ns, hosts, ROW_NUMBER() OVER (PARTITION BY part ORDER BY cpu_ns DESC, space, pod_name) AS place FROM sums
), named AS (
    SELECT CASE WHEN part <> 'task' OR place <= :limit THEN space ELSE '' END AS kept_space,
           CASE WHEN part <> 'task' OR place <= :limit THEN pod_name ELSE '(other)' END AS name,
           CASE WHEN part <> 'task' OR place <= :limit THEN part ELSE 'other' END AS kind, cpu_ns, hosts
    FROM ranked
)
SELECT kept_space AS namespace, name, kind AS part, SUM(cpu_ns) AS cpu_ns, MAX(hosts) AS hosts FROM named
GROUP BY kept_space, name, kind ORDER BY cpu_ns DESC, namespace, name, part
