-- Claims of retries: each later attempt has a claim of its own, its row in pending_attempts.
-- Where lists of recipients are joined, the list of their ranges is compared too: it bounds what is read, whatever plan the
-- connection keeps. OFFSET 0 keeps a look by key.

-- name: due_retries
SELECT pending_attempts.range_id, pending_attempts.seq, pending_attempts.attempt_no,
       recipients.phone, recipients.variables, recipients.template_index,
       pending_attempts.transient_failures, pending_attempts.pair_throttles, pending_attempts.unreachable,
       EXISTS (SELECT 1 FROM suppressions WHERE suppressions.phone = recipients.phone OFFSET 0) AS opted_out
FROM pending_attempts
JOIN recipients ON recipients.range_id = pending_attempts.range_id AND recipients.seq = pending_attempts.seq
               AND recipients.range_id = ANY((SELECT $1::bigint[])::bigint[])
WHERE pending_attempts.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND pending_attempts.state = 'deferred'
  AND pending_attempts.due_at <= now()
ORDER BY pending_attempts.due_at LIMIT $2;

-- name: lock_open_ranges
-- The fence of a retry's claim: ranges that are still ours, still open, and of a running campaign.
SELECT range_id FROM ranges
WHERE range_id = ANY($1::bigint[]) AND phone_number_id = $2 AND epoch = $3 AND state = 'open'
  AND EXISTS (SELECT FROM campaigns WHERE campaigns.campaign_id = ranges.campaign_id AND campaigns.state = 'running')
ORDER BY range_id FOR UPDATE;

-- name: claim_retries
-- A recipient who opted out since `due_retries` gets no claim; the next look skips that recipient.
UPDATE pending_attempts
SET state = 'claimed', attempt_no = pending_attempts.attempt_no + 1, epoch = $4, phone_number_id = $5, since = now()
FROM unnest($1::bigint[], $2::integer[], $3::integer[], $6::bigint[]) AS wanted (range_id, seq, attempt_no, phone)
WHERE pending_attempts.range_id = wanted.range_id AND pending_attempts.seq = wanted.seq
  AND pending_attempts.range_id = ANY($1::bigint[])
  AND pending_attempts.state = 'deferred' AND pending_attempts.attempt_no = wanted.attempt_no
  AND NOT EXISTS (SELECT 1 FROM suppressions WHERE suppressions.phone = wanted.phone OFFSET 0)
RETURNING pending_attempts.range_id, pending_attempts.seq, pending_attempts.attempt_no;

-- name: count_claimed
UPDATE range_counters SET deferred = range_counters.deferred - claimed.count
FROM unnest($1::bigint[], $2::integer[]) AS claimed (range_id, count)
WHERE range_counters.range_id = claimed.range_id;

-- name: postpone_retries
-- The guard deferred a recipient again: only the time and the reason change. The rows are locked without their range counters, so
-- this waits for nobody. A recipient whose row is locked elsewhere is still due, and the guard looks at it again.
WITH locked AS MATERIALIZED (
    SELECT wanted.*
    FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::float8[], $5::text[])
        AS wanted (range_id, seq, attempt_no, wait_s, reason)
    CROSS JOIN LATERAL (
        SELECT FROM pending_attempts
        WHERE pending_attempts.range_id = wanted.range_id AND pending_attempts.seq = wanted.seq
          AND pending_attempts.state = 'deferred' AND pending_attempts.attempt_no = wanted.attempt_no
        FOR NO KEY UPDATE SKIP LOCKED) AS held)
UPDATE pending_attempts
SET due_at = now() + make_interval(secs => locked.wait_s), reason = locked.reason
FROM locked
WHERE pending_attempts.range_id = locked.range_id AND pending_attempts.seq = locked.seq
  AND pending_attempts.range_id = ANY($1::bigint[])
  AND pending_attempts.state = 'deferred' AND pending_attempts.attempt_no = locked.attempt_no;

-- name: claimed_by_owner
SELECT range_id, seq, attempt_no, transient_failures, pair_throttles, unreachable FROM pending_attempts
WHERE range_id = ANY($1::bigint[]) AND state = 'claimed' AND phone_number_id = $2 AND epoch = $3;
