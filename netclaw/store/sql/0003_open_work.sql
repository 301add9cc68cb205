-- Child runs whose result no turn has told of, and ended jobs of which none has: either may make a
-- start of the session due. Live jobs do not count, because they die with its process.
ALTER TABLE sessions ADD COLUMN open_runs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN untold_jobs INTEGER NOT NULL DEFAULT 0;
