INSERT INTO trail_commits
    (team, replica, number, first_sequence, last_sequence, time_ns, origin, previous, root, key_id, signature, leaves)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
