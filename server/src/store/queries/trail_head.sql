SELECT team, replica, number, first_sequence, last_sequence, time_ns, origin, previous, root, key_id, signature, leaves
FROM trail_commits
WHERE team = ?1 AND replica = ?2
ORDER BY number DESC
LIMIT ?3
