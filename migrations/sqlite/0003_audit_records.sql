-- The trail: append-only, one gapless sequence per team. The columns are what is filtered by; `body` is the record
-- itself as the protobuf message of its kind (DecisionRecord, OutcomeRecord, PolicyChangeRecord), redacted.
CREATE TABLE audit_records (
    team           TEXT NOT NULL REFERENCES teams (id),
    sequence       INTEGER NOT NULL CHECK (sequence > 0),
    record_id      TEXT NOT NULL,
    time_ns        INTEGER NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('decision', 'outcome', 'policy_change')),
    principal      TEXT NOT NULL,
    host_id        TEXT NOT NULL,
    host_principal TEXT,
    effect         TEXT CHECK (effect IN ('allow', 'ask', 'deny')),
    session_id     TEXT,
    decision_id    TEXT,
    tool_name      TEXT,
    body           BLOB NOT NULL,
    PRIMARY KEY (team, sequence)
) STRICT;

-- A decision is recorded once and has at most one outcome.
CREATE UNIQUE INDEX audit_one_per_decision ON audit_records (team, decision_id, kind) WHERE decision_id IS NOT NULL;

-- One index per filter, each with the sequence for paging. Decisions are nearly all records, so they need none by kind.
CREATE INDEX audit_by_time ON audit_records (team, time_ns, sequence);
CREATE INDEX audit_by_principal ON audit_records (team, principal, sequence);
CREATE INDEX audit_by_kind ON audit_records (team, kind, sequence) WHERE kind <> 'decision';
CREATE INDEX audit_by_effect ON audit_records (team, effect, sequence) WHERE effect IS NOT NULL;
CREATE INDEX audit_by_session ON audit_records (team, session_id, sequence) WHERE session_id IS NOT NULL;
CREATE INDEX audit_by_tool ON audit_records (team, tool_name, sequence) WHERE tool_name IS NOT NULL;

CREATE TRIGGER audit_records_never_change BEFORE UPDATE ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'an audit record never changes');
END;

CREATE TRIGGER audit_records_stay BEFORE DELETE ON audit_records
BEGIN
    SELECT RAISE(ABORT, 'an audit record is never deleted');
END;
