INSERT INTO active_policies (team, version) VALUES (?1, ?2)
ON CONFLICT (team) DO UPDATE SET version = excluded.version
