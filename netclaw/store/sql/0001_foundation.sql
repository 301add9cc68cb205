-- The foundation: catalog, journal, snapshots, inputs and their dedupe, answers, outbox, supervision.
-- Times are epoch milliseconds. `session` is the integer id, which never leaves the store.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('clean_shutdown', '1'), ('probe', '0');

CREATE TABLE sessions (
    id               INTEGER PRIMARY KEY,
    key              TEXT    NOT NULL UNIQUE,
    kind             TEXT    NOT NULL,
    channel          TEXT    NOT NULL,
    audience         TEXT    NOT NULL,
    parent           TEXT,
    storage_layout   INTEGER NOT NULL,
    storage_root     TEXT    NOT NULL,
    created_at       INTEGER NOT NULL,
    title            TEXT    NOT NULL DEFAULT '',
    life             INTEGER NOT NULL,
    incarnation      INTEGER NOT NULL,
    head             INTEGER NOT NULL DEFAULT 0,
    -- The last seq that is not an event which may interleave with an append.
    firm_head        INTEGER NOT NULL DEFAULT 0,
    -- Appends by session processes so far; the slot of the next one in append_ids.
    appends          INTEGER NOT NULL DEFAULT 0,
    turns            INTEGER NOT NULL DEFAULT 0,
    -- `turns` are those of this life; the next two count every life.
    turns_recorded   INTEGER NOT NULL DEFAULT 0,
    turns_failed     INTEGER NOT NULL DEFAULT 0,
    admitted_inputs  INTEGER NOT NULL DEFAULT 0,
    pending_inputs   INTEGER NOT NULL DEFAULT 0,
    pending_bytes    INTEGER NOT NULL DEFAULT 0,
    pending_answers  INTEGER NOT NULL DEFAULT 0,
    open_turn        TEXT,
    state_version    INTEGER NOT NULL DEFAULT 0,
    last_activity_at INTEGER NOT NULL,
    is_quarantined   INTEGER NOT NULL DEFAULT 0,
    is_start_open    INTEGER NOT NULL DEFAULT 0,
    starts_held      INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What is left of a deleted session, so that a later one of the same key begins a later life and
-- no process of the old one can pass for one of the new.
CREATE TABLE tombstones (
    key         TEXT    PRIMARY KEY,
    life        INTEGER NOT NULL,
    incarnation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A rowid table on purpose: WITHOUT ROWID is several times slower and larger for rows of 1 KiB.
CREATE TABLE journal (
    id          INTEGER PRIMARY KEY,
    session     INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    type        TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    cause       TEXT    NOT NULL,
    payload     BLOB    NOT NULL,
    UNIQUE (session, seq)
) STRICT;

-- The newest snapshot of each session; journal rows before it stay, so an older one adds nothing.
CREATE TABLE snapshots (
    session INTEGER PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    seq     INTEGER NOT NULL,
    codec   TEXT    NOT NULL,
    payload BLOB    NOT NULL
) STRICT;

-- The last appends of each session, in a ring of slots, so that a repeat answers the first rows.
CREATE TABLE append_ids (
    session   INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    slot      INTEGER NOT NULL,
    append_id TEXT    NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    PRIMARY KEY (session, slot)
) STRICT, WITHOUT ROWID;

-- What became of every input: waiting, running, completed, stopped, guard-ended, failed, closed.
CREATE TABLE inputs (
    session           INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq               INTEGER NOT NULL,
    input_id          TEXT    NOT NULL,
    source            TEXT    NOT NULL,
    source_message_id TEXT,
    text_bytes        INTEGER NOT NULL,
    received_at       INTEGER NOT NULL,
    admitted_at       INTEGER NOT NULL,
    turn              TEXT,
    outcome           TEXT    NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX inputs_open ON inputs (session, seq) WHERE outcome IN ('waiting', 'running');

-- Durable dedupe: the first admission of each source message.
CREATE TABLE source_messages (
    session           INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    source_message_id TEXT    NOT NULL,
    input_id          TEXT    NOT NULL,
    seq               INTEGER NOT NULL,
    PRIMARY KEY (session, source_message_id)
) STRICT, WITHOUT ROWID;

-- Consent answers that are durable and whose call is not launched yet.
CREATE TABLE answers (
    session  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call_id  TEXT    NOT NULL,
    option   TEXT    NOT NULL,
    answerer TEXT    NOT NULL,
    seq      INTEGER NOT NULL,
    PRIMARY KEY (session, call_id)
) STRICT, WITHOUT ROWID;

-- Whole replies on their way to a channel. The row id is part of the idempotency key, so it is
-- never used twice, not even after a delete.
CREATE TABLE outbox (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    session         INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    channel         TEXT    NOT NULL,
    address         TEXT    NOT NULL,
    turn            TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    created_at      INTEGER NOT NULL,
    state           TEXT    NOT NULL DEFAULT 'waiting',
    attempts        INTEGER NOT NULL DEFAULT 0,
    next_attempt_at INTEGER NOT NULL DEFAULT 0,
    claimant        TEXT    NOT NULL DEFAULT '',
    external_id     TEXT    NOT NULL DEFAULT '',
    failure         TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX outbox_open ON outbox (channel, address, id) WHERE state IN ('waiting', 'claimed');
CREATE INDEX outbox_session ON outbox (session);

-- Which inputs a reply answers.
CREATE TABLE outbox_inputs (
    session  INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    input_id TEXT    NOT NULL,
    reply    INTEGER NOT NULL,
    PRIMARY KEY (session, input_id, reply)
) STRICT, WITHOUT ROWID;

-- Where a thread of a channel belongs, the route of its replies and how far it has been read.
CREATE TABLE bindings (
    channel    TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    session    INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    route      TEXT    NOT NULL DEFAULT '',
    cursor     TEXT    NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    PRIMARY KEY (channel, address)
) STRICT, WITHOUT ROWID;

CREATE INDEX bindings_session ON bindings (session);

-- Unasked deaths of session processes, for backoff and quarantine.
CREATE TABLE crashes (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    at      INTEGER NOT NULL
) STRICT;

CREATE INDEX crashes_session ON crashes (session, at);
