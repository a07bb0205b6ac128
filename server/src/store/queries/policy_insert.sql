INSERT INTO policy_versions (team, version, digest, author, created_at_ns, comment, file_name, rule_count, content)
VALUES (?1, (SELECT coalesce(max(version), 0) + 1 FROM policy_versions WHERE team = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8)
RETURNING version
