SELECT p.version, p.digest, p.author, p.created_at_ns, p.comment, p.file_name, p.rule_count,
       coalesce(a.version = p.version, FALSE) AS active, p.content
FROM policy_versions p LEFT JOIN active_policies a ON a.team = p.team
WHERE p.team = ?1 AND p.version = CASE ?2 WHEN 0 THEN a.version ELSE ?2 END
