-- Background jobs and what became of them. When each began, ended and was told of stands in the
-- journal at the seqs; a row goes, with the job's files, a day after it was told of.
CREATE TABLE jobs (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    job_id      TEXT    NOT NULL,
    turn        TEXT    NOT NULL,
    call_id     TEXT    NOT NULL,
    command     TEXT    NOT NULL,
    log_path    TEXT    NOT NULL,
    -- Seconds that the model gave it.
    limit_s     REAL,
    seq         INTEGER NOT NULL,
    -- A live one is 'Running', also while it waits for a slot.
    state       TEXT    NOT NULL DEFAULT 'Running',
    exit_code   INTEGER,
    ended_seq   INTEGER,
    -- The turn that tells of its end, or lists it as reaped, and the seq of that turn's end.
    told_turn   TEXT,
    told_seq    INTEGER,
    UNIQUE (session, job_id)
) STRICT;

CREATE INDEX jobs_untold ON jobs (session) WHERE told_seq IS NULL;
CREATE INDEX jobs_told ON jobs (id) WHERE told_seq IS NOT NULL;
