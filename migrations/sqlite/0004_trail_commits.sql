-- The chain over the trail: see docs/decisions/0080. One row says which replica this database is; it is made together with
-- the commits that adopt the records that were there before, so that nothing is ever adopted twice.
CREATE TABLE trail_replicas (
    replica    TEXT PRIMARY KEY NOT NULL,
    made_at_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE trail_keys (
    key_id      TEXT PRIMARY KEY NOT NULL,
    public_key  BLOB NOT NULL CHECK (length(public_key) = 32),
    added_at_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The records of a team that one transaction wrote, sealed. `leaves` is the hash of each, 32 bytes after 32 bytes.
CREATE TABLE trail_commits (
    team           TEXT NOT NULL REFERENCES teams (id),
    replica        TEXT NOT NULL REFERENCES trail_replicas (replica),
    number         INTEGER NOT NULL CHECK (number > 0),
    first_sequence INTEGER NOT NULL CHECK (first_sequence > 0),
    last_sequence  INTEGER NOT NULL CHECK (last_sequence >= first_sequence),
    time_ns        INTEGER NOT NULL,
    origin         TEXT NOT NULL CHECK (origin IN ('written', 'adopted')),
    previous       BLOB NOT NULL CHECK (length(previous) = 32),
    root           BLOB NOT NULL CHECK (length(root) = 32),
    key_id         TEXT NOT NULL,
    signature      BLOB NOT NULL CHECK (length(signature) = 64),
    leaves         BLOB NOT NULL CHECK (length(leaves) = 32 * (last_sequence - first_sequence + 1)),
    PRIMARY KEY (team, replica, number)
) STRICT;

CREATE UNIQUE INDEX trail_commits_by_sequence ON trail_commits (team, first_sequence);

CREATE TRIGGER trail_commits_never_change BEFORE UPDATE ON trail_commits
BEGIN
    SELECT RAISE(ABORT, 'a commit of the trail never changes');
END;

CREATE TRIGGER trail_commits_stay BEFORE DELETE ON trail_commits
BEGIN
    SELECT RAISE(ABORT, 'a commit of the trail is never deleted');
END;
