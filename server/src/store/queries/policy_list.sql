SELECT p.version, p.digest, p.author, p.created_at_ns, p.comment, p.file_name, p.rule_count,
       coalesce(a.version = p.version, FALSE) AS active
FROM policy_versions p LEFT JOIN active_policies a ON a.team = p.team
WHERE p.team = ?1 AND (?2 = 0 OR p.version < ?2)
ORDER BY p.version DESC
LIMIT ?3
