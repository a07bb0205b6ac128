SELECT id FROM teams UNION SELECT team FROM trail_commits UNION SELECT DISTINCT team FROM audit_records ORDER BY 1
