SELECT sequence, time_ns, body
FROM audit_records
WHERE team = ?1 AND decision_id = ?2 AND kind = 'outcome'
