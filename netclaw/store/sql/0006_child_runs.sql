-- Child runs of sessions and what became of them, by the parents' journals. When each was accepted,
-- ended and told of stands there at the seqs; what was asked stands in its ChildAccepted at `seq`.
CREATE TABLE child_runs (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    run_id      TEXT    NOT NULL,
    -- Key of the run's own session.
    child       TEXT    NOT NULL,
    agent       TEXT    NOT NULL,
    turn        TEXT    NOT NULL,
    call_id     TEXT    NOT NULL,
    seq         INTEGER NOT NULL,
    state       TEXT    NOT NULL DEFAULT 'Accepted',
    reason      TEXT    NOT NULL DEFAULT '',
    result_path TEXT    NOT NULL DEFAULT '',
    ended_seq   INTEGER,
    -- The turn that tells of its end, and the seq of that turn's end.
    told_turn   TEXT,
    told_seq    INTEGER,
    -- The newest start whose task or answers the run's own journal holds.
    start       INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session, run_id)
) STRICT;

CREATE INDEX child_runs_untold ON child_runs (session) WHERE told_seq IS NULL;
CREATE INDEX child_runs_child ON child_runs (child);
CREATE INDEX child_runs_run ON child_runs (run_id);
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent IS NOT NULL;
