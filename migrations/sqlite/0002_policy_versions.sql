-- Team policy: immutable versions, and one pointer per team to the version in force.
CREATE TABLE policy_versions (
    team          TEXT NOT NULL REFERENCES teams (id),
    version       INTEGER NOT NULL CHECK (version > 0),
    digest        TEXT NOT NULL CHECK (length(digest) = 64),
    author        TEXT NOT NULL,
    created_at_ns INTEGER NOT NULL,
    comment       TEXT NOT NULL,
    file_name     TEXT NOT NULL,
    rule_count    INTEGER NOT NULL,
    content       BLOB NOT NULL,
    PRIMARY KEY (team, version)
) STRICT;

CREATE TABLE active_policies (
    team    TEXT PRIMARY KEY NOT NULL REFERENCES teams (id),
    version INTEGER NOT NULL,
    FOREIGN KEY (team, version) REFERENCES policy_versions (team, version)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER policy_versions_never_change BEFORE UPDATE ON policy_versions
BEGIN
    SELECT RAISE(ABORT, 'a policy version never changes');
END;

CREATE TRIGGER policy_versions_stay BEFORE DELETE ON policy_versions
BEGIN
    SELECT RAISE(ABORT, 'a policy version is never deleted');
END;
