-- How full a session's context is: input tokens of the newest request that ended a turn, as the
-- model's service counted them, or what a compaction left.
ALTER TABLE sessions ADD COLUMN context_tokens INTEGER NOT NULL DEFAULT 0;
