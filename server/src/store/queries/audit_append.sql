INSERT INTO audit_records
    (team, sequence, record_id, time_ns, kind, principal, host_id, host_principal, effect, session_id, decision_id, tool_name, body)
VALUES
    (?1, (SELECT coalesce(max(sequence), 0) + 1 FROM audit_records WHERE team = ?1), ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
RETURNING sequence
