-- Teams, and the tokens that speak for their principals. A token is kept as its SHA-256 only.
CREATE TABLE teams (
    id            TEXT PRIMARY KEY NOT NULL,
    created_at_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    hash          BLOB PRIMARY KEY NOT NULL CHECK (length(hash) = 32),
    team          TEXT NOT NULL REFERENCES teams (id),
    principal     TEXT NOT NULL CHECK (principal <> ''),
    role          TEXT NOT NULL CHECK (role IN ('admin', 'agent', 'auditor', 'host')),
    created_at_ns INTEGER NOT NULL,
    revoked_at_ns INTEGER
) STRICT, WITHOUT ROWID;

-- One token in force per principal: making a new one revokes the old one in the same transaction.
CREATE UNIQUE INDEX tokens_in_force ON tokens (team, principal) WHERE revoked_at_ns IS NULL;
