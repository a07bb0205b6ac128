SELECT coalesce(max(sequence), 0) FROM audit_records WHERE team = ?1
