-- The ranges and the numbers that hold them: taking over, taking, releasing, finishing. Several statements hide the length of an
-- array from the planner with (SELECT $1::bigint[]). Otherwise it would plan the statement anew for each call, which costs more
-- than to run it.

-- name: ranges_of_former_owner
-- The ranges that a former owner of this number left, locked before they are fenced.
SELECT range_id, epoch FROM ranges
WHERE phone_number_id = $1 AND epoch < $2 ORDER BY range_id FOR UPDATE;

-- name: fence
-- Writes the new epoch on the ranges. From now on no claim of an earlier epoch finds its row. A row of `claims` with the same
-- watermark and epoch belongs to another number, which claimed nobody there: it is replaced.
WITH fenced AS (
    UPDATE ranges SET epoch = $2 WHERE range_id = ANY($1::bigint[])
    RETURNING range_id, campaign_id, last_seq, claimed_through, state, time_zones),
noted AS (
    INSERT INTO claims (range_id, from_seq, epoch, phone_number_id)
    SELECT range_id, claimed_through + 1, $2, $3 FROM fenced
    ON CONFLICT (range_id, from_seq, epoch) DO UPDATE SET phone_number_id = EXCLUDED.phone_number_id, claimed_at = now())
SELECT range_id, campaign_id, last_seq, claimed_through, state, time_zones FROM fenced;

-- name: put_first_attempts_in_doubt
-- First attempts that were claimed and have no outcome, of an owner whose epoch is gone.
INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)
SELECT recipients.range_id, recipients.seq, 1, 'unknown', held.epoch, $3, 'its sender ended before the reply was stored'
FROM unnest($1::bigint[], $2::bigint[]) AS held (range_id, epoch)
JOIN ranges USING (range_id)
JOIN recipients ON recipients.range_id = held.range_id AND recipients.seq <= ranges.claimed_through
WHERE recipients.skip_reason IS NULL
  AND NOT EXISTS (SELECT 1 FROM outcomes
                  WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
  AND NOT EXISTS (SELECT 1 FROM pending_attempts
                  WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq)
RETURNING range_id;

-- name: remove_retries_of_reached
-- Retries under way whose recipient was reached by an earlier attempt: nobody is in doubt.
DELETE FROM pending_attempts
WHERE range_id = ANY($1::bigint[]) AND state = 'claimed'
  AND EXISTS (SELECT 1 FROM outcomes
              WHERE outcomes.range_id = pending_attempts.range_id AND outcomes.seq = pending_attempts.seq
                AND outcomes.kind = 1 AND outcomes.status <> 3);

-- name: put_retries_in_doubt
-- Retries that were claimed and have no outcome.
UPDATE pending_attempts
SET state = 'unknown', since = now(), reason = 'its sender ended before the reply was stored', resend = false
WHERE range_id = ANY($1::bigint[]) AND state = 'claimed'
RETURNING range_id;

-- name: count_in_doubt
UPDATE range_counters SET unknown = range_counters.unknown + in_doubt.count
FROM unnest($1::bigint[], $2::integer[]) AS in_doubt (range_id, count)
WHERE range_counters.range_id = in_doubt.range_id;

-- name: wake_untagged_events
-- Events without a tag that matched nothing may be about the attempts that are in doubt now: they are matched again at once.
UPDATE inbox SET due_at = now()
WHERE phone_number_id = $1 AND range_id IS NULL AND installation IS NULL AND due_at > now();

-- name: lock_number
SELECT FROM numbers WHERE phone_number_id = $1 FOR NO KEY UPDATE;

-- name: own_ranges
SELECT range_id, campaign_id, last_seq, claimed_through, state, time_zones FROM ranges
WHERE phone_number_id = $1 AND epoch = $2 ORDER BY campaign_id, ordinal;

-- name: take_range
-- The next free range of a campaign; ranges that another number takes at this moment are passed over.
-- The number's row stays locked until the commit, so that nobody takes the number over between the look and the claim. If
-- no range is free, the row is not locked: numbers without work ask a few times a second, and a lock is a write to the log.
-- The campaign's state is read from the database, because the process's own copy is up to half a second old, and after a
-- fail-over it may be the copy of another database. Of a campaign whose canary has not passed, only the canary's ranges count.
WITH sendable AS MATERIALIZED (
    SELECT coalesce((SELECT ranges FROM canaries WHERE campaign_id = $1 AND passed_at IS NULL), 2147483647) AS below),
owner AS MATERIALIZED (
    SELECT FROM numbers
    WHERE phone_number_id = $2 AND epoch = $3
      AND EXISTS (SELECT FROM campaigns WHERE campaign_id = $1 AND state = 'running')
      AND (SELECT true FROM ranges
           WHERE campaign_id = $1 AND state = 'open' AND phone_number_id IS NULL AND due_at <= now()
             AND ordinal < (SELECT below FROM sendable)
           ORDER BY due_at, ordinal LIMIT 1)
    FOR SHARE),
taken AS (
    UPDATE ranges SET phone_number_id = $2, epoch = $3, waits_for = NULL
    WHERE EXISTS (SELECT FROM owner) AND range_id = (
        SELECT range_id FROM ranges
        WHERE campaign_id = $1 AND state = 'open' AND phone_number_id IS NULL AND due_at <= now()
          AND ordinal < (SELECT below FROM sendable)
        ORDER BY due_at, ordinal LIMIT 1
        FOR UPDATE SKIP LOCKED)
    RETURNING range_id, campaign_id, last_seq, claimed_through, state, time_zones),
noted AS (
    INSERT INTO claims (range_id, from_seq, epoch, phone_number_id)
    SELECT range_id, claimed_through + 1, $3, $2 FROM taken
    ON CONFLICT (range_id, from_seq, epoch) DO UPDATE SET phone_number_id = EXCLUDED.phone_number_id, claimed_at = now())
SELECT range_id, campaign_id, last_seq, claimed_through, state, time_zones FROM taken;

-- name: lock_ranges
SELECT range_id FROM ranges
WHERE range_id = ANY((SELECT $1::bigint[])::bigint[]) AND phone_number_id = $2 AND epoch = $3 ORDER BY range_id FOR UPDATE;

-- name: perhaps_idle
-- Ranges that are worth a lock: nobody in them waits for a first attempt or its reply, or they are no longer ours. This look
-- takes no locks. If it misses a range, the next look finds it; locks for every look would delay all outcomes.
SELECT ranges.range_id FROM ranges JOIN range_counters USING (range_id)
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND range_counters.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND ((ranges.phone_number_id, ranges.epoch) IS DISTINCT FROM ($2, $3::bigint) OR range_counters.pending = 0);

-- name: finish_ranges
-- Every recipient has an outcome or is in doubt: nothing is left to send. A closed range is only released.
-- The range counters must be locked, or a deferral that is being recorded would end in a range that is done.
-- A retry under way may hide behind an earlier attempt that was reached: if that one fails, nobody would wait for the retry.
UPDATE ranges
SET state = CASE WHEN ranges.state = 'open' THEN 'done' ELSE ranges.state END, phone_number_id = NULL
FROM range_counters
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND range_counters.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND range_counters.range_id = ranges.range_id AND range_counters.pending = 0 AND range_counters.deferred = 0
  AND NOT EXISTS (SELECT 1 FROM pending_attempts
                  WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'claimed' OFFSET 0)
RETURNING ranges.range_id;

-- name: release_until_due
-- Ranges in which only deferred recipients are left, none of them due soon. A number that is free then takes the range.
UPDATE ranges SET phone_number_id = NULL, due_at = waiting.due_at
FROM (SELECT range_id, min(due_at) AS due_at FROM pending_attempts
      WHERE range_id = ANY((SELECT $1::bigint[])::bigint[]) AND state = 'deferred' GROUP BY range_id) AS waiting,
     range_counters
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND range_counters.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND ranges.range_id = waiting.range_id AND range_counters.range_id = ranges.range_id
  AND ranges.claimed_through = ranges.last_seq AND waiting.due_at > now() + make_interval(secs => $2)
  AND range_counters.pending = 0
  AND NOT EXISTS (SELECT 1 FROM pending_attempts
                  WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'claimed' OFFSET 0)
RETURNING ranges.range_id;

-- name: release_ranges
-- Releases ranges in which nothing is under way, and checks that this is so. A range with a claim without an outcome (the answer
-- to a claim was lost) stays with its number. The next owner fences it and puts the recipient in doubt. Nobody would do so for a
-- free range.
-- do so for a free range.
UPDATE ranges
SET phone_number_id = NULL,
    due_at = CASE WHEN claimed_through < last_seq THEN '-infinity'
                  ELSE coalesce((SELECT min(due_at) FROM pending_attempts
                                 WHERE pending_attempts.range_id = ranges.range_id
                                   AND pending_attempts.state = 'deferred'), '-infinity')
             END
WHERE range_id = ANY($1::bigint[]) AND phone_number_id = $2 AND epoch = $3
  AND NOT EXISTS (SELECT 1 FROM pending_attempts
                  WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'claimed')
  AND NOT EXISTS (
      SELECT 1 FROM recipients
      WHERE recipients.range_id = ranges.range_id AND recipients.seq <= ranges.claimed_through
        AND recipients.skip_reason IS NULL
        AND NOT EXISTS (SELECT 1 FROM outcomes
                        WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
        AND NOT EXISTS (SELECT 1 FROM pending_attempts
                        WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq));

-- name: owners_of_ranges
-- Numbers that hold ranges, whatever the states of their campaigns. long_gone: the owner ended, or has not renewed its lease for
-- $2 seconds.
SELECT DISTINCT ON (numbers.phone_number_id) numbers.phone_number_id, numbers.owner_process,
       numbers.released OR numbers.leased_until < now() - make_interval(secs => $2) AS long_gone
FROM ranges JOIN numbers USING (phone_number_id)
WHERE ranges.phone_number_id <> ALL($1::text[])
ORDER BY numbers.phone_number_id;
