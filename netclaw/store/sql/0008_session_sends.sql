-- Messages from one session to another until the sender has the reply, or is gone. The target's turn
-- and the sender's call end in any order; a late reply needs both.
CREATE TABLE session_sends (
    id         INTEGER PRIMARY KEY,
    sender     INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn       TEXT    NOT NULL,
    call_id    TEXT    NOT NULL,
    target     INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    -- Key of the target, which may be gone.
    target_key TEXT    NOT NULL,
    input_id   TEXT    NOT NULL,
    -- JSON of what a late reply runs under.
    authority  TEXT    NOT NULL,
    -- How the target's turn ended; null before.
    ended      TEXT,
    reply      TEXT    NOT NULL DEFAULT '',
    -- The sender's call is over without the reply.
    is_late    INTEGER NOT NULL DEFAULT 0,
    UNIQUE (sender, call_id)
) STRICT;

CREATE INDEX session_sends_target ON session_sends (target, input_id) WHERE ended IS NULL;
CREATE INDEX session_sends_referenced ON session_sends (target);
