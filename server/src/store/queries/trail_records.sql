SELECT team, sequence, record_id, time_ns, kind, principal, host_id, host_principal, effect, session_id, decision_id, tool_name, body
FROM audit_records
WHERE team = ?1 AND sequence > ?2 AND sequence <= ?3
ORDER BY sequence
LIMIT ?4
