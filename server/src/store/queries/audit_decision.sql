SELECT effect, host_id, host_principal, session_id, tool_name
FROM audit_records
WHERE team = ?1 AND decision_id = ?2 AND kind = 'decision'
