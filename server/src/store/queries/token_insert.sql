INSERT INTO tokens (hash, team, principal, role, created_at_ns) VALUES (?1, ?2, ?3, ?4, ?5)
