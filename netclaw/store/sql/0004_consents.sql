-- Consent requests and how they ended. What was asked, and when, stands in the journal at `seq`.
CREATE TABLE consent_requests (
    id         INTEGER PRIMARY KEY,
    session    INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call_id    TEXT    NOT NULL,
    turn       TEXT    NOT NULL,
    -- The child run that asks.
    run        TEXT,
    seq        INTEGER NOT NULL,
    -- open; answered: the answer is durable and its session has not taken it up; closed.
    state      TEXT    NOT NULL DEFAULT 'open',
    -- The answer that counts, kept so that a repeat of it is known.
    option     TEXT,
    answerer   TEXT,
    boundary   TEXT,
    answer_seq INTEGER,
    UNIQUE (session, call_id)
) STRICT;

CREATE INDEX consent_requests_open ON consent_requests (session, id) WHERE state <> 'closed';

-- What an older database holds: the last request of each call, and whether anything ended it. A
-- payload that is no JSON is a matter for the start of its session.
INSERT INTO consent_requests (session, call_id, turn, run, seq)
SELECT session, call_id, turn, run, seq FROM (
  -- Of each group the other columns are those of its last row.
  SELECT session, call_id, turn, run, seq, max(id) AS last FROM (
    SELECT id, session, seq,
      CASE WHEN json_valid(text) THEN json_extract(text, '$.request.call_id') END AS call_id,
      CASE WHEN json_valid(text) THEN json_extract(text, '$.turn_id') END AS turn,
      CASE WHEN json_valid(text) THEN json_extract(text, '$.run_id') END AS run
    FROM (
      SELECT id, session, seq, CAST(payload AS TEXT) AS text
      FROM journal WHERE type = 'ConsentRequested'))
  WHERE typeof(call_id) = 'text' AND typeof(turn) = 'text'
  GROUP BY session, call_id)
ORDER BY last;

-- A session whose key holds a control character is deleted, and its rows are being removed.
UPDATE consent_requests SET state = 'closed'
WHERE session IN (SELECT id FROM sessions WHERE key < ' ') OR EXISTS (
  SELECT 1 FROM (
    SELECT session, seq, type, CAST(payload AS TEXT) AS text FROM journal WHERE type IN (
      'SessionReset', 'ConsentAnswered', 'ConsentWithdrawn', 'ToolResultRecorded', 'TurnRecorded',
      'TurnFailed', 'ChildEnded')) AS j
  WHERE j.session = consent_requests.session AND j.seq > consent_requests.seq
    AND CASE
      WHEN NOT json_valid(j.text) THEN 0
      WHEN j.type = 'SessionReset' THEN 1
      WHEN j.type IN ('ConsentAnswered', 'ConsentWithdrawn')
        THEN json_extract(j.text, '$.call_id') = consent_requests.call_id
      WHEN j.type = 'ToolResultRecorded'
        THEN json_extract(j.text, '$.result.call_id') = consent_requests.call_id
      WHEN j.type = 'ChildEnded' THEN json_extract(j.text, '$.run_id') = consent_requests.run
      ELSE json_extract(j.text, '$.turn_id') = consent_requests.turn END);

UPDATE consent_requests
SET (state, option, answerer, answer_seq) = (
    SELECT 'answered', a.option, a.answerer, a.seq FROM answers AS a
    WHERE a.session = consent_requests.session AND a.call_id = consent_requests.call_id)
WHERE state = 'open' AND EXISTS (
    SELECT 1 FROM answers AS a
    WHERE a.session = consent_requests.session AND a.call_id = consent_requests.call_id
      AND a.seq > consent_requests.seq);

UPDATE consent_requests SET boundary = (
    SELECT CASE WHEN json_valid(CAST(j.payload AS TEXT))
      THEN json_extract(CAST(j.payload AS TEXT), '$.boundary') END
    FROM journal AS j
    WHERE j.session = consent_requests.session AND j.seq = consent_requests.answer_seq)
WHERE state = 'answered';
