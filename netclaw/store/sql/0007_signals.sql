-- What sessions are told of each other. These tables name sessions by their public key, because the
-- log outlives a session's rows: that of a child run stays when the run's own journal is removed.

-- AUTOINCREMENT: a sequence is never used twice, not even after a delete.
CREATE TABLE session_state_events (
    sequence     INTEGER PRIMARY KEY AUTOINCREMENT,
    dedupe_key   TEXT UNIQUE,
    session_key  TEXT    NOT NULL,
    -- The life of the session in which it happened.
    session_id   TEXT,
    agent_id     TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    actor_type   TEXT    NOT NULL,
    actor_id     TEXT,
    run_id       TEXT,
    occurred_at  INTEGER NOT NULL,
    summary      TEXT    NOT NULL,
    payload_json TEXT
) STRICT;

CREATE INDEX session_state_events_session ON session_state_events (session_key, sequence DESC);
CREATE INDEX session_state_events_age ON session_state_events (occurred_at DESC, sequence DESC);

-- The state version of each session; pruning never lowers it.
CREATE TABLE session_state_heads (
    session_key         TEXT    PRIMARY KEY,
    agent_id            TEXT    NOT NULL,
    last_sequence       INTEGER NOT NULL,
    -- Who knows less than this does not know what is gone.
    pruned_max_sequence INTEGER NOT NULL DEFAULT 0,
    updated_at          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE session_watch_cursors (
    watcher_session_key TEXT    NOT NULL,
    target_session_key  TEXT    NOT NULL,
    last_seen_sequence  INTEGER NOT NULL DEFAULT 0,
    notified_sequence   INTEGER NOT NULL DEFAULT 0,
    material_sequence   INTEGER NOT NULL DEFAULT 0,
    updated_at          INTEGER NOT NULL,
    -- The turn that told of the last notice, while that turn can still come to nothing, and what
    -- had been seen before it.
    told_turn           TEXT,
    told_since          INTEGER NOT NULL DEFAULT 0,
    -- How often in a row such a turn came to nothing.
    reopened            INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (watcher_session_key, target_session_key)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_watch_cursors_target ON session_watch_cursors (target_session_key);
CREATE INDEX session_watch_cursors_open ON session_watch_cursors (watcher_session_key)
    WHERE material_sequence > last_seen_sequence;
CREATE INDEX session_watch_cursors_told ON session_watch_cursors (watcher_session_key)
    WHERE told_turn IS NOT NULL;

-- Where adopted sessions came from, and how far that was followed.
CREATE TABLE session_upstream_links (
    session_key       TEXT    PRIMARY KEY,
    agent_id          TEXT    NOT NULL,
    catalog_id        TEXT    NOT NULL,
    host_id           TEXT    NOT NULL,
    thread_id         TEXT    NOT NULL,
    upstream_kind     TEXT    NOT NULL,
    upstream_ref_json TEXT    NOT NULL,
    last_marker_json  TEXT    NOT NULL,
    last_scanned_at   INTEGER,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX session_upstream_links_catalog ON session_upstream_links (catalog_id);

-- Sender of an input that a person wrote, empty if not known; null of any other input.
ALTER TABLE inputs ADD COLUMN person TEXT;
ALTER TABLE sessions ADD COLUMN goal TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN goal_status TEXT NOT NULL DEFAULT 'active';
-- The state version up to which a later session of the same key has no history.
ALTER TABLE tombstones ADD COLUMN state_version INTEGER NOT NULL DEFAULT 0;
