INSERT INTO teams (id, created_at_ns) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING
