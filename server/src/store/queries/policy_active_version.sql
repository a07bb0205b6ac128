SELECT version FROM active_policies WHERE team = ?1
