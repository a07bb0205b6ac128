SELECT team, replica, number, first_sequence, last_sequence, time_ns, origin, previous, root, key_id, signature, leaves
FROM trail_commits
WHERE team = ?1 AND first_sequence > ?2 AND first_sequence <= ?3
ORDER BY first_sequence
LIMIT ?4
