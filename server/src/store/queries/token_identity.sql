SELECT team, principal, role, revoked_at_ns IS NOT NULL AS revoked FROM tokens WHERE hash = ?1
