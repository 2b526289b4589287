-- What is stored of one person, over all campaigns.

-- name: look_by_filter
-- For this transaction. The planner knows no better of a Bloom filter than that any page may match, and would read the table.
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'on', true);

-- name: recipients
-- $1, $2: the spellings of the phone; see the index `recipients_phone`.
SELECT range_id, seq FROM recipients WHERE phone = $1 OR phone = $2;

-- name: states
SELECT known.range_id, known.seq, campaigns.campaign_id, campaigns.name AS campaign, campaigns.state AS campaign_state,
       campaigns.created_at, known.line, known.template_index, campaigns.template, known.state, known.reason, known.code,
       known.due_at
FROM unnest($1::bigint[], $2::integer[]) AS found (range_id, seq)
CROSS JOIN LATERAL (
    SELECT * FROM recipient_states
    WHERE recipient_states.range_id = found.range_id AND recipient_states.seq = found.seq OFFSET 0) AS known
JOIN campaigns USING (campaign_id)
WHERE campaigns.planned_at IS NOT NULL
ORDER BY campaigns.campaign_id, known.range_id, known.seq;

-- name: attempts
SELECT outcome.* FROM unnest($1::bigint[], $2::integer[]) AS found (range_id, seq)
CROSS JOIN LATERAL (
    SELECT range_id, seq, attempt_no, kind, status, phone_number_id, wamid, code, reason, pricing, attempted_at, sent_at,
           delivered_at, read_at, failed_at
    FROM outcomes WHERE outcomes.range_id = found.range_id AND outcomes.seq = found.seq OFFSET 0) AS outcome
ORDER BY outcome.range_id, outcome.seq, outcome.attempt_no;

-- name: pending_attempts
SELECT waiting.* FROM unnest($1::bigint[], $2::integer[]) AS found (range_id, seq)
CROSS JOIN LATERAL (
    SELECT range_id, seq, attempt_no, state, epoch, phone_number_id, reason, due_at, since
    FROM pending_attempts
    WHERE pending_attempts.range_id = found.range_id AND pending_attempts.seq = found.seq OFFSET 0) AS waiting;

-- name: messages
SELECT wamid, phone_number_id, type, sent_at, body FROM incoming_messages
WHERE sender = ANY ($1::text[]) ORDER BY sent_at, wamid;

-- name: suppression
SELECT reason, added_at FROM suppressions WHERE phone = ANY ($1::bigint[]) ORDER BY added_at LIMIT 1;
