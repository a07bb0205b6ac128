UPDATE tokens SET revoked_at_ns = ?3 WHERE team = ?1 AND principal = ?2 AND revoked_at_ns IS NULL
