-- The recording of facts about attempts. OFFSET 0 keeps a look by key for each fact. The list of ranges is compared too, which
-- bounds what a join reads: a plan that was made while outcomes were few would otherwise read all of them later.

-- name: record_outcome_runs
-- The long lists come as text: Postgres reads an array's literal faster than the driver writes its binary form.
SELECT record_outcome_runs(
    $1::text::bigint[], $2::text::bigint[], string_to_array($3, E'\x1f'), $4::text::integer[], $5::text::integer[],
    $6::text::integer[], $7::text::integer[], $8::text::integer[], $9::text::integer[], $10::text::integer[],
    $11::text::smallint[], string_to_array($12, E'\x1f', ''), $13::text::integer[], string_to_array($14, E'\x1f', ''),
    $15::text::bigint[], $16::jsonb);

-- name: lock_range_counters
-- The lock that every writer of facts takes. (SELECT ...) hides the length of the array, so that the plan is kept.
SELECT range_id FROM range_counters
WHERE range_id = ANY((SELECT $1::bigint[])::bigint[]) ORDER BY range_id FOR UPDATE;

-- name: recorded
-- Recipients with a record: their states before and after the batch must be looked up.
SELECT fact.range_id, fact.seq FROM unnest($1::bigint[], $2::integer[]) AS fact (range_id, seq)
WHERE EXISTS (SELECT 1 FROM outcomes
              WHERE outcomes.range_id = fact.range_id AND outcomes.seq = fact.seq OFFSET 0)
   OR EXISTS (SELECT 1 FROM pending_attempts
              WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq OFFSET 0);

-- name: states
SELECT known.range_id, known.state
FROM unnest($1::bigint[], $2::integer[]) AS fact (range_id, seq),
     LATERAL (SELECT range_id, state FROM recipient_states
              WHERE recipient_states.range_id = fact.range_id AND recipient_states.seq = fact.seq OFFSET 0) AS known;

-- name: insert_outcomes
-- A batch may be repeated after a lost COMMIT: a row that exists stays as it is. Programs are told of failures that are new.
WITH inserted AS (
    INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason, attempted_at)
    SELECT range_id, seq, attempt_no, epoch, kind, CASE kind WHEN 1 THEN 1 END, phone_number_id, wamid, code, reason,
           timestamptz 'epoch' + attempted_us * interval '1 microsecond'
    FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::bigint[], $5::smallint[], $6::text[], $7::text[],
                $8::integer[], $9::text[], $10::bigint[])
        AS fact (range_id, seq, attempt_no, epoch, kind, phone_number_id, wamid, code, reason, attempted_us)
    ON CONFLICT (range_id, seq, attempt_no) DO NOTHING
    RETURNING range_id, seq, kind, code, attempted_at)
SELECT note_events(array_agg(range_id), array_agg(seq), array_agg(3::smallint), array_agg(coalesce(attempted_at, now())),
                   array_agg(code))
FROM inserted WHERE kind = 2 AND EXISTS (SELECT FROM subscriptions);

-- name: complete_outcomes
-- A status or a person may have written the row before the reply was stored. The values that only the reply knows are added.
UPDATE outcomes
SET attempted_at = coalesce(outcomes.attempted_at, timestamptz 'epoch' + fact.attempted_us * interval '1 microsecond'),
    wamid = coalesce(outcomes.wamid, CASE WHEN outcomes.kind = 1 AND fact.kind = 1 THEN fact.wamid END)
FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::smallint[], $5::text[], $6::bigint[])
    AS fact (range_id, seq, attempt_no, kind, wamid, attempted_us)
WHERE outcomes.range_id = fact.range_id AND outcomes.seq = fact.seq AND outcomes.attempt_no = fact.attempt_no
  AND outcomes.range_id = ANY($1::bigint[])
  AND (outcomes.attempted_at IS NULL AND fact.attempted_us IS NOT NULL
       OR outcomes.wamid IS NULL AND outcomes.kind = 1 AND fact.kind = 1 AND fact.wamid IS NOT NULL);

-- name: settle_pending_attempts
-- An outcome settles its own attempt. Acceptance also cancels a later attempt that waits.
DELETE FROM pending_attempts
USING unnest($1::bigint[], $2::integer[], $3::integer[], $4::smallint[]) AS fact (range_id, seq, attempt_no, kind)
WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq
  AND pending_attempts.range_id = ANY($1::bigint[])
  AND (pending_attempts.attempt_no = fact.attempt_no OR (fact.kind = 1 AND pending_attempts.state <> 'claimed'));

-- name: put_skipped_resends_in_doubt
-- The guard refused to send to a recipient in doubt again: the recipient is in doubt once more. A skip would hide that the
-- message may have been sent, and take the place of the outcome of that attempt.
UPDATE pending_attempts
SET state = 'unknown', since = now(), reason = fact.reason || ' before it was sent again', resend = false
FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[]) AS fact (range_id, seq, attempt_no, reason)
WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq
  AND pending_attempts.attempt_no = fact.attempt_no
  AND pending_attempts.range_id = ANY($1::bigint[]) AND pending_attempts.state = 'deferred' AND pending_attempts.resend
RETURNING pending_attempts.range_id, pending_attempts.seq;

-- name: write_pending_attempts
-- "Not accepted" and "in doubt" hold only for the present attempt, as its owner claimed it, while nothing settled it.
-- A deferral keeps `resend`: only the later attempt was not accepted.
INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason, due_at,
                              transient_failures, pair_throttles, unreachable)
SELECT fact.range_id, fact.seq, fact.attempt_no, fact.state, fact.epoch, fact.phone_number_id, fact.reason,
       now() + make_interval(secs => fact.wait_s), fact.transient_failures, fact.pair_throttles, fact.unreachable
FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::float8[],
            $9::smallint[], $10::smallint[], $11::smallint[])
    AS fact (range_id, seq, attempt_no, state, epoch, phone_number_id, reason, wait_s,
             transient_failures, pair_throttles, unreachable)
WHERE NOT EXISTS (SELECT 1 FROM outcomes
                  WHERE outcomes.range_id = fact.range_id AND outcomes.seq = fact.seq
                    AND (outcomes.attempt_no >= fact.attempt_no OR outcomes.kind = 1 AND outcomes.status <> 3) OFFSET 0)
ON CONFLICT (range_id, seq) DO UPDATE
SET state = EXCLUDED.state, due_at = EXCLUDED.due_at, since = now(), reason = EXCLUDED.reason,
    resend = pending_attempts.resend AND EXCLUDED.state = 'deferred',
    transient_failures = EXCLUDED.transient_failures, pair_throttles = EXCLUDED.pair_throttles,
    unreachable = EXCLUDED.unreachable
WHERE pending_attempts.attempt_no = EXCLUDED.attempt_no AND pending_attempts.epoch = EXCLUDED.epoch
  AND (pending_attempts.state = 'claimed' OR (pending_attempts.state = 'unknown' AND EXCLUDED.state = 'deferred'));

-- name: remove_retries_of_reached
-- A retry was refused for now, but an earlier attempt reached the recipient: nothing waits any longer.
DELETE FROM pending_attempts
USING unnest($1::bigint[], $2::integer[], $3::integer[]) AS fact (range_id, seq, attempt_no)
WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq
  AND pending_attempts.attempt_no = fact.attempt_no
  AND pending_attempts.range_id = ANY($1::bigint[]) AND pending_attempts.state = 'claimed'
  AND EXISTS (SELECT 1 FROM outcomes
              WHERE outcomes.range_id = fact.range_id AND outcomes.seq = fact.seq
                AND outcomes.kind = 1 AND outcomes.status <> 3 OFFSET 0);

-- name: skip_deferred_of_closed
-- The campaign was cancelled or expired meanwhile: a deferred recipient is skipped with that reason. A resend is not
-- skipped, because an earlier attempt may have been accepted: the recipient is in doubt again.
WITH in_doubt AS (
    UPDATE pending_attempts
    SET state = 'unknown', since = now(), reason = ranges.closed_reason || ' before it was sent again', resend = false
    FROM ranges, unnest($1::bigint[], $2::integer[]) AS fact (range_id, seq)
    WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq
      AND pending_attempts.state = 'deferred' AND pending_attempts.resend
      AND ranges.range_id = fact.range_id AND ranges.state = 'closed'),
skipped AS (
    DELETE FROM pending_attempts USING ranges, unnest($1::bigint[], $2::integer[]) AS fact (range_id, seq)
    WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq
      AND pending_attempts.state = 'deferred' AND NOT pending_attempts.resend
      AND ranges.range_id = fact.range_id AND ranges.state = 'closed'
    RETURNING pending_attempts.range_id, pending_attempts.seq, pending_attempts.attempt_no, pending_attempts.epoch,
              pending_attempts.phone_number_id, ranges.closed_reason)
INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, phone_number_id, reason)
SELECT range_id, seq, attempt_no, epoch, 3, phone_number_id, closed_reason FROM skipped
ON CONFLICT (range_id, seq, attempt_no) DO NOTHING;

-- name: reopen_done
-- A late "not accepted" of a former owner makes a recipient in doubt a deferred one, perhaps after the new owner found
-- nothing left to send. Without this, nobody would look into the range again.
UPDATE ranges SET state = 'open', due_at = least(due_at, now())
WHERE range_id = ANY($1::bigint[]) AND state = 'done'
  AND EXISTS (SELECT 1 FROM pending_attempts
              WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'deferred')
RETURNING campaign_id;

-- name: change_range_counters
UPDATE range_counters
SET deferred = range_counters.deferred + change.deferred, accepted = range_counters.accepted + change.accepted,
    sent = range_counters.sent + change.sent, delivered = range_counters.delivered + change.delivered,
    read = range_counters.read + change.read, failed = range_counters.failed + change.failed,
    unknown = range_counters.unknown + change.unknown, skipped = range_counters.skipped + change.skipped
FROM (SELECT range_id,
             coalesce(sum(change) FILTER (WHERE state = 'deferred'), 0) AS deferred,
             coalesce(sum(change) FILTER (WHERE state = 'accepted'), 0) AS accepted,
             coalesce(sum(change) FILTER (WHERE state = 'sent'), 0) AS sent,
             coalesce(sum(change) FILTER (WHERE state = 'delivered'), 0) AS delivered,
             coalesce(sum(change) FILTER (WHERE state = 'read'), 0) AS read,
             coalesce(sum(change) FILTER (WHERE state = 'failed'), 0) AS failed,
             coalesce(sum(change) FILTER (WHERE state = 'unknown'), 0) AS unknown,
             coalesce(sum(change) FILTER (WHERE state = 'skipped'), 0) AS skipped
      FROM unnest($1::bigint[], $2::text[], $3::integer[]) AS changes (range_id, state, change)
      GROUP BY range_id) AS change
WHERE range_counters.range_id = change.range_id;

-- name: phones
SELECT recipients.phone, fact.reason
FROM unnest($1::bigint[], $2::integer[], $3::text[]) AS fact (range_id, seq, reason)
JOIN recipients ON recipients.range_id = fact.range_id AND recipients.seq = fact.seq;

-- name: count_attempts
SELECT count_attempts($1::jsonb);
