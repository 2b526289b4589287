-- name: held_ranges
-- What a former start of this number left behind, locked before it is stamped.
SELECT range_id, epoch FROM ranges
WHERE phone_number_id = $1 AND epoch < $2 ORDER BY range_id FOR UPDATE;

-- name: stamp
-- The fence stands on the range itself: from here no claim of an earlier epoch finds its row. Who had the same watermark at the same
-- epoch, of another number, claimed nobody: `claims` then forgets it.
WITH stamped AS (
    UPDATE ranges SET epoch = $2 WHERE range_id = ANY($1::bigint[])
    RETURNING range_id, campaign_id, last_seq, claimed_through, state),
told AS (
    INSERT INTO claims (range_id, from_seq, epoch, phone_number_id) SELECT range_id, claimed_through + 1, $2, $3 FROM stamped
    ON CONFLICT (range_id, from_seq, epoch) DO UPDATE SET phone_number_id = EXCLUDED.phone_number_id, claimed_at = now())
SELECT range_id, campaign_id, last_seq, claimed_through, state FROM stamped;

-- name: lock_range_counters
SELECT range_id FROM range_counters WHERE range_id = ANY((SELECT $1::bigint[])::bigint[]) ORDER BY range_id FOR UPDATE;

-- name: own_ranges
SELECT range_id, campaign_id, last_seq, claimed_through, state FROM ranges
WHERE phone_number_id = $1 AND epoch = $2 ORDER BY campaign_id, ordinal;

-- name: doubt_marked
-- First attempts that were claimed, have no outcome, and whose owner's epoch is gone.
INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)
SELECT recipients.range_id, recipients.seq, 1, 'unknown', held.epoch, $3, 'its sender ended before the reply was stored'
FROM unnest($1::bigint[], $2::bigint[]) AS held (range_id, epoch)
JOIN ranges USING (range_id)
JOIN recipients ON recipients.range_id = held.range_id AND recipients.seq <= ranges.claimed_through
WHERE recipients.skip_reason IS NULL
  AND NOT EXISTS (SELECT 1 FROM outcomes WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
  AND NOT EXISTS (SELECT 1 FROM pending_attempts WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq)
RETURNING range_id;

-- name: drop_reached_claims
-- A later attempt under way whose recipient an earlier attempt reached is no doubt.
DELETE FROM pending_attempts
WHERE range_id = ANY($1::bigint[]) AND state = 'claimed'
  AND EXISTS (SELECT 1 FROM outcomes
              WHERE outcomes.range_id = pending_attempts.range_id AND outcomes.seq = pending_attempts.seq
                AND outcomes.kind = 1 AND outcomes.status <> 3);

-- name: doubt_claimed
-- Later attempts likewise.
UPDATE pending_attempts
SET state = 'unknown', since = now(), reason = 'its sender ended before the reply was stored'
WHERE range_id = ANY($1::bigint[]) AND state = 'claimed'
RETURNING range_id;

-- name: wake_untagged
-- Events without a tag that found no match may be about the doubts that are named now: the fold looks again at once.
UPDATE inbox SET due_at = now()
WHERE phone_number_id = $1 AND range_id IS NULL AND installation IS NULL AND due_at > now();

-- name: count_doubts
UPDATE range_counters SET unknown = range_counters.unknown + doubts.count
FROM unnest($1::bigint[], $2::integer[]) AS doubts (range_id, count)
WHERE range_counters.range_id = doubts.range_id;

-- name: lock_number
SELECT FROM numbers WHERE phone_number_id = $1 FOR NO KEY UPDATE;

-- name: take_range
-- The next free range of a campaign; ranges that another number takes at this moment are passed over. The number's row is
-- held until commit, so that no taking-over can slip between the look and the claim; where nothing is free it is not locked,
-- since numbers without work ask a few times a second, and a lock is a write to the log. The campaign's state is what the
-- database says now: what the process knows is up to half a second old, and perhaps of another database.
WITH owner AS MATERIALIZED (
    SELECT FROM numbers
    WHERE phone_number_id = $2 AND epoch = $3
      AND EXISTS (SELECT FROM campaigns WHERE campaign_id = $1 AND state = 'running')
      AND (SELECT true FROM ranges
           WHERE campaign_id = $1 AND state = 'open' AND phone_number_id IS NULL AND due_at <= now()
           ORDER BY due_at, ordinal LIMIT 1)
    FOR SHARE),
taken AS (
    UPDATE ranges SET phone_number_id = $2, epoch = $3
    WHERE EXISTS (SELECT FROM owner) AND range_id = (
        SELECT range_id FROM ranges
        WHERE campaign_id = $1 AND state = 'open' AND phone_number_id IS NULL AND due_at <= now()
        ORDER BY due_at, ordinal LIMIT 1
        FOR UPDATE SKIP LOCKED)
    RETURNING range_id, campaign_id, last_seq, claimed_through, state),
told AS (
    INSERT INTO claims (range_id, from_seq, epoch, phone_number_id) SELECT range_id, claimed_through + 1, $3, $2 FROM taken
    ON CONFLICT (range_id, from_seq, epoch) DO UPDATE SET phone_number_id = EXCLUDED.phone_number_id, claimed_at = now())
SELECT range_id, campaign_id, last_seq, claimed_through, state FROM taken;

-- name: page
-- A range's recipients that are still to be claimed for the first time, in one page.
-- Nobody above the watermark was sent to, unless the database went back in time: then replies and events may tell of messages
-- that it does not know. So recipients with any record are left out; those that wait or are in doubt are claimed apart.
SELECT seq, phone, variables FROM recipients
WHERE range_id = $1 AND seq > $2 AND skip_reason IS NULL
  AND seq <> ALL (ARRAY(SELECT seq FROM outcomes WHERE range_id = $1 AND seq > $2
                        UNION ALL SELECT seq FROM pending_attempts WHERE range_id = $1 AND seq > $2))
ORDER BY seq;

-- name: advance_watermarks
-- As advance_watermark, for several numbers with one range each. Only for ranges in which, since their page was read, no phone
-- asked for silence and no event told of a message: a page may have waited through a pause. A range that is locked is
-- passed over: it would hold up the others. The fence stands on the row that is locked, and again on the one that changes;
-- IS NOT DISTINCT FROM, so that no row is looked up by its number, of which an index keeps the dead ones.
-- Lists of phones come as text, which costs the driver less; OFFSET 0 keeps the looks by key. (SELECT ...) hides from the
-- planner how many there are: it would plan each statement anew, which costs more than to carry it out. So do the
-- statements below that go with every range or every look.
WITH wanted AS (
    SELECT * FROM unnest((SELECT $1::bigint[]), (SELECT $2::text[]), (SELECT $3::bigint[]), (SELECT $4::integer[]),
                         (SELECT $5::integer[]), (SELECT $6::text[]))
                  AS wanted (range_id, phone_number_id, epoch, old_claimed_through, new_claimed_through, phones)),
locked AS MATERIALIZED (
    SELECT wanted.* FROM wanted
    CROSS JOIN LATERAL (
        SELECT FROM ranges
        WHERE range_id = wanted.range_id AND claimed_through = wanted.old_claimed_through AND state = 'open' AND wanted.new_claimed_through <= last_seq
          AND (phone_number_id, epoch) IS NOT DISTINCT FROM (wanted.phone_number_id, wanted.epoch)
        FOR NO KEY UPDATE SKIP LOCKED) AS held
    WHERE NOT EXISTS (SELECT 1 FROM suppressions WHERE phone = ANY(wanted.phones::bigint[]) OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM outcomes
                      WHERE outcomes.range_id = wanted.range_id AND seq > wanted.old_claimed_through AND seq <= wanted.new_claimed_through
                      OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM pending_attempts
                      WHERE pending_attempts.range_id = wanted.range_id AND seq > wanted.old_claimed_through AND seq <= wanted.new_claimed_through
                      OFFSET 0))
UPDATE ranges SET claimed_through = locked.new_claimed_through FROM locked
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND ranges.range_id = locked.range_id
  AND ranges.phone_number_id = locked.phone_number_id
  AND ranges.epoch = locked.epoch AND ranges.claimed_through = locked.old_claimed_through AND ranges.state = 'open'
RETURNING ranges.range_id, ranges.epoch;

-- name: known_above
-- As in `page`.
SELECT seq FROM outcomes WHERE range_id = $1 AND seq > $2 AND seq <= $3
UNION ALL
SELECT seq FROM pending_attempts WHERE range_id = $1 AND seq > $2 AND seq <= $3;

-- name: opted_out
SELECT phone FROM suppressions WHERE phone = ANY($1::bigint[]);

-- name: advance_watermark
UPDATE ranges SET claimed_through = $5
WHERE range_id = $1 AND phone_number_id = $2 AND epoch = $3 AND claimed_through = $4 AND state = 'open' AND $5 <= last_seq
RETURNING claimed_through;

-- name: read_watermark
-- Locks the row: a transaction of a connection that was lost may still be under way, and its COMMIT may yet arrive.
SELECT claimed_through FROM ranges WHERE range_id = $1 AND phone_number_id = $2 AND epoch = $3 FOR UPDATE;

-- name: due_retries
SELECT pending_attempts.range_id, pending_attempts.seq, pending_attempts.attempt_no, recipients.phone, recipients.variables,
       pending_attempts.transient_failures, pending_attempts.pair_throttles, pending_attempts.unreachable,
       EXISTS (SELECT 1 FROM suppressions WHERE suppressions.phone = recipients.phone OFFSET 0) AS opted_out
FROM pending_attempts
JOIN recipients ON recipients.range_id = pending_attempts.range_id AND recipients.seq = pending_attempts.seq
               AND recipients.range_id = ANY((SELECT $1::bigint[])::bigint[])
WHERE pending_attempts.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND pending_attempts.state = 'deferred'
  AND pending_attempts.due_at <= now()
ORDER BY pending_attempts.due_at LIMIT $2;

-- name: lock_open_ranges
-- The fence of a retry's claim: rows of ranges that are still ours, still open, and of a campaign that runs.
SELECT range_id FROM ranges
WHERE range_id = ANY($1::bigint[]) AND phone_number_id = $2 AND epoch = $3 AND state = 'open'
  AND EXISTS (SELECT FROM campaigns WHERE campaigns.campaign_id = ranges.campaign_id AND campaigns.state = 'running')
ORDER BY range_id FOR UPDATE;

-- name: claim_retries
-- Who asked for silence since the look is passed over, by key (OFFSET 0): the next look skips that recipient.
-- Here and wherever lists of recipients are joined, naming their ranges twice bounds what is read, whatever plan was kept.
UPDATE pending_attempts
SET state = 'claimed', attempt_no = pending_attempts.attempt_no + 1, epoch = $4, phone_number_id = $5, since = now()
FROM unnest($1::bigint[], $2::integer[], $3::integer[], $6::bigint[]) AS wanted (range_id, seq, attempt_no, phone)
WHERE pending_attempts.range_id = wanted.range_id AND pending_attempts.seq = wanted.seq AND pending_attempts.range_id = ANY($1::bigint[])
  AND pending_attempts.state = 'deferred' AND pending_attempts.attempt_no = wanted.attempt_no
  AND NOT EXISTS (SELECT 1 FROM suppressions WHERE suppressions.phone = wanted.phone OFFSET 0)
RETURNING pending_attempts.range_id, pending_attempts.seq, pending_attempts.attempt_no;

-- name: count_claimed
UPDATE range_counters SET deferred = range_counters.deferred - claimed.count
FROM unnest($1::bigint[], $2::integer[]) AS claimed (range_id, count)
WHERE range_counters.range_id = claimed.range_id;

-- name: postpone_retries
-- What the guard defers again keeps its attempt; only its time moves. That it is a doubt, too, is not forgotten.
-- Rows are locked without their range counters, so nobody is waited for: who is passed over is due, and guarded, again.
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
SET due_at = now() + make_interval(secs => locked.wait_s),
    reason = CASE pending_attempts.reason WHEN 'resend' THEN 'resend' ELSE locked.reason END
FROM locked
WHERE pending_attempts.range_id = locked.range_id AND pending_attempts.seq = locked.seq AND pending_attempts.range_id = ANY($1::bigint[])
  AND pending_attempts.state = 'deferred' AND pending_attempts.attempt_no = locked.attempt_no;

-- name: claimed_by
SELECT range_id, seq, attempt_no, transient_failures, pair_throttles, unreachable FROM pending_attempts
WHERE range_id = ANY($1::bigint[]) AND state = 'claimed' AND phone_number_id = $2 AND epoch = $3;

-- name: lock_ranges
SELECT range_id FROM ranges
WHERE range_id = ANY((SELECT $1::bigint[])::bigint[]) AND phone_number_id = $2 AND epoch = $3 ORDER BY range_id FOR UPDATE;

-- name: perhaps_done
-- Of these ranges, those worth the locks: nobody in them waits for a first attempt or its reply, or they are no longer ours.
-- A look without locks: what it misses, the next one finds. Locks for every look would hold up all outcomes.
SELECT ranges.range_id FROM ranges JOIN range_counters USING (range_id)
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND range_counters.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND ((ranges.phone_number_id, ranges.epoch) IS DISTINCT FROM ($2, $3::bigint)
       OR range_counters.recipients = range_counters.accepted + range_counters.sent + range_counters.delivered + range_counters.read + range_counters.failed
                               + range_counters.unknown + range_counters.skipped + range_counters.deferred);

-- name: finish_ranges
-- Every recipient has an outcome or is in doubt: nothing is left to send. Closed ranges only let go of the number.
-- The range counters must be locked: a deferral that is being recorded would otherwise end in a range that is done. A later attempt
-- under way hides behind an earlier one that was reached: should that one fail, nobody would wait for the later one.
UPDATE ranges
SET state = CASE WHEN ranges.state = 'open' THEN 'done' ELSE ranges.state END, phone_number_id = NULL
FROM range_counters
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND range_counters.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND range_counters.range_id = ranges.range_id
  AND range_counters.recipients = range_counters.accepted + range_counters.sent + range_counters.delivered + range_counters.read + range_counters.failed
                         + range_counters.unknown + range_counters.skipped
  AND NOT EXISTS (SELECT 1 FROM pending_attempts
                  WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'claimed' OFFSET 0)
RETURNING ranges.range_id;

-- name: park_ranges
-- Only deferred recipients are left, and none is due soon: a number that is free then takes the range.
UPDATE ranges SET phone_number_id = NULL, due_at = waiting.due_at
FROM (SELECT range_id, min(due_at) AS due_at FROM pending_attempts
      WHERE range_id = ANY((SELECT $1::bigint[])::bigint[]) AND state = 'deferred' GROUP BY range_id) AS waiting,
     range_counters
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND range_counters.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND ranges.range_id = waiting.range_id AND range_counters.range_id = ranges.range_id AND ranges.claimed_through = ranges.last_seq
  AND waiting.due_at > now() + make_interval(secs => $2)
  AND range_counters.recipients = range_counters.accepted + range_counters.sent + range_counters.delivered + range_counters.read + range_counters.failed
                         + range_counters.unknown + range_counters.skipped + range_counters.deferred
  AND NOT EXISTS (SELECT 1 FROM pending_attempts
                  WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'claimed' OFFSET 0)
RETURNING ranges.range_id;

-- name: release_ranges
-- A clean hand-over: nothing is under way in them, and the store proves it. Where something is claimed without an
-- outcome (a claim whose answer was lost), the range stays with its number: the next owner stamps it and names the
-- doubt, which nobody does for a free range.
UPDATE ranges
SET phone_number_id = NULL,
    due_at = CASE WHEN claimed_through < last_seq THEN '-infinity'
                  ELSE coalesce((SELECT min(due_at) FROM pending_attempts
                                 WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'deferred'), '-infinity')
             END
WHERE range_id = ANY($1::bigint[]) AND phone_number_id = $2 AND epoch = $3
  AND NOT EXISTS (SELECT 1 FROM pending_attempts WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'claimed')
  AND NOT EXISTS (
      SELECT 1 FROM recipients
      WHERE recipients.range_id = ranges.range_id AND recipients.seq <= ranges.claimed_through AND recipients.skip_reason IS NULL
        AND NOT EXISTS (SELECT 1 FROM outcomes
                        WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
        AND NOT EXISTS (SELECT 1 FROM pending_attempts
                        WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq));

-- name: holders
-- Numbers that hold ranges, whatever became of the campaigns, and how long their owners have been silent.
SELECT DISTINCT ON (numbers.phone_number_id) numbers.phone_number_id, numbers.owner_process,
       numbers.released OR numbers.leased_until < now() - make_interval(secs => $2) AS long_gone
FROM ranges JOIN numbers USING (phone_number_id)
WHERE ranges.phone_number_id <> ALL($1::text[])
ORDER BY numbers.phone_number_id;

-- name: ranges_left
-- Work that a campaign still has: open ranges, whoever holds them.
SELECT EXISTS (SELECT 1 FROM ranges WHERE campaign_id = $1 AND state = 'open');
