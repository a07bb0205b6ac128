SELECT sequence, record_id, time_ns, kind, principal, host_id, body
FROM audit_records
WHERE team = 
