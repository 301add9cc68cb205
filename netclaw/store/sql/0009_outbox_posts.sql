-- The outbox carries more than replies: files that were attached, and messages that begin a thread.
ALTER TABLE outbox ADD COLUMN kind TEXT NOT NULL DEFAULT 'reply';
-- Of a message that begins a thread, the call that sends it: the same call sends once.
ALTER TABLE outbox ADD COLUMN call_id TEXT NOT NULL DEFAULT '';
-- Of a file: the session's copy and what is known of its content.
ALTER TABLE outbox ADD COLUMN file TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN media_type TEXT NOT NULL DEFAULT '';
ALTER TABLE outbox ADD COLUMN size_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN sha256 TEXT NOT NULL DEFAULT '';

CREATE UNIQUE INDEX outbox_calls ON outbox (session, call_id) WHERE call_id <> '';
