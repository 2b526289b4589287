-- name: held_ranges
-- What a former start of this number left behind, locked before it is stamped.
SELECT range_id, epoch FROM ranges
WHERE phone_number_id = $1 AND epoch < $2 ORDER BY range_id FOR UPDATE;

-- name: stamp
-- The fence stands on the range itself: from here no claim of an earlier epoch finds its row. Who had the same mark at the same
-- epoch, of another number, claimed nobody: `claims` then forgets it.
WITH stamped AS (
    UPDATE ranges SET epoch = $2 WHERE range_id = ANY($1::bigint[])
    RETURNING range_id, campaign_id, hi, mark, state),
told AS (
    INSERT INTO claims (range_id, from_seq, epoch, phone_number_id) SELECT range_id, mark + 1, $2, $3 FROM stamped
    ON CONFLICT (range_id, from_seq, epoch) DO UPDATE SET phone_number_id = EXCLUDED.phone_number_id, claimed_at = now())
SELECT range_id, campaign_id, hi, mark, state FROM stamped;

-- name: lock_tallies
SELECT range_id FROM tallies WHERE range_id = ANY((SELECT $1::bigint[])::bigint[]) ORDER BY range_id FOR UPDATE;

-- name: own_ranges
SELECT range_id, campaign_id, hi, mark, state FROM ranges
WHERE phone_number_id = $1 AND epoch = $2 ORDER BY campaign_id, ordinal;

-- name: doubt_marked
-- First tries that were claimed, have no outcome, and whose owner's epoch is gone.
INSERT INTO open_tries (range_id, seq, try, state, epoch, phone_number_id, reason)
SELECT recipients.range_id, recipients.seq, 1, 'unknown', held.epoch, $3, 'its sender ended before the reply was stored'
FROM unnest($1::bigint[], $2::bigint[]) AS held (range_id, epoch)
JOIN ranges USING (range_id)
JOIN recipients ON recipients.range_id = held.range_id AND recipients.seq <= ranges.mark
WHERE recipients.skip_reason IS NULL
  AND NOT EXISTS (SELECT 1 FROM outcomes WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
  AND NOT EXISTS (SELECT 1 FROM open_tries WHERE open_tries.range_id = recipients.range_id AND open_tries.seq = recipients.seq)
RETURNING range_id;

-- name: drop_reached_claims
-- A later try under way whose recipient an earlier try reached is no doubt.
DELETE FROM open_tries
WHERE range_id = ANY($1::bigint[]) AND state = 'claimed'
  AND EXISTS (SELECT 1 FROM outcomes
              WHERE outcomes.range_id = open_tries.range_id AND outcomes.seq = open_tries.seq
                AND outcomes.kind = 1 AND outcomes.status <> 3);

-- name: doubt_claimed
-- Later tries likewise.
UPDATE open_tries
SET state = 'unknown', since = now(), reason = 'its sender ended before the reply was stored'
WHERE range_id = ANY($1::bigint[]) AND state = 'claimed'
RETURNING range_id;

-- name: wake_untagged
-- Events without a tag that found no match may be about the doubts that are named now: the fold looks again at once.
UPDATE inbox SET due_at = now()
WHERE phone_number_id = $1 AND range_id IS NULL AND installation IS NULL AND due_at > now();

-- name: count_doubts
UPDATE tallies SET unknown = tallies.unknown + doubts.count
FROM unnest($1::bigint[], $2::integer[]) AS doubts (range_id, count)
WHERE tallies.range_id = doubts.range_id;

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
    RETURNING range_id, campaign_id, hi, mark, state),
told AS (
    INSERT INTO claims (range_id, from_seq, epoch, phone_number_id) SELECT range_id, mark + 1, $3, $2 FROM taken
    ON CONFLICT (range_id, from_seq, epoch) DO UPDATE SET phone_number_id = EXCLUDED.phone_number_id, claimed_at = now())
SELECT range_id, campaign_id, hi, mark, state FROM taken;

-- name: page
-- A range's recipients that are still to be claimed for the first time, in one page.
-- Nobody above the mark was sent to, unless the database went back in time: then replies and events may tell of messages
-- that it does not know. So recipients with any record are left out; those that wait or are in doubt are claimed apart.
SELECT seq, phone, variables FROM recipients
WHERE range_id = $1 AND seq > $2 AND skip_reason IS NULL
  AND seq <> ALL (ARRAY(SELECT seq FROM outcomes WHERE range_id = $1 AND seq > $2
                        UNION ALL SELECT seq FROM open_tries WHERE range_id = $1 AND seq > $2))
ORDER BY seq;

-- name: raise_marks
-- As raise_mark, for several numbers with one range each. Only for ranges in which, since their page was read, no phone
-- asked for silence and no event told of a message: a page may have waited through a pause. A range that is locked is
-- passed over: it would hold up the others. The fence stands on the row that is locked, and again on the one that changes;
-- IS NOT DISTINCT FROM, so that no row is looked up by its number, of which an index keeps the dead ones.
-- Lists of phones come as text, which costs the driver less; OFFSET 0 keeps the looks by key. (SELECT ...) hides from the
-- planner how many there are: it would plan each statement anew, which costs more than to carry it out. So do the
-- statements below that go with every range or every look.
WITH wanted AS (
    SELECT * FROM unnest((SELECT $1::bigint[]), (SELECT $2::text[]), (SELECT $3::bigint[]), (SELECT $4::integer[]),
                         (SELECT $5::integer[]), (SELECT $6::text[]))
                  AS wanted (range_id, phone_number_id, epoch, old_mark, new_mark, phones)),
locked AS MATERIALIZED (
    SELECT wanted.* FROM wanted
    CROSS JOIN LATERAL (
        SELECT FROM ranges
        WHERE range_id = wanted.range_id AND mark = wanted.old_mark AND state = 'open' AND wanted.new_mark <= hi
          AND (phone_number_id, epoch) IS NOT DISTINCT FROM (wanted.phone_number_id, wanted.epoch)
        FOR NO KEY UPDATE SKIP LOCKED) AS held
    WHERE NOT EXISTS (SELECT 1 FROM suppressions WHERE phone = ANY(wanted.phones::bigint[]) OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM outcomes
                      WHERE outcomes.range_id = wanted.range_id AND seq > wanted.old_mark AND seq <= wanted.new_mark
                      OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM open_tries
                      WHERE open_tries.range_id = wanted.range_id AND seq > wanted.old_mark AND seq <= wanted.new_mark
                      OFFSET 0))
UPDATE ranges SET mark = locked.new_mark FROM locked
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND ranges.range_id = locked.range_id
  AND ranges.phone_number_id = locked.phone_number_id
  AND ranges.epoch = locked.epoch AND ranges.mark = locked.old_mark AND ranges.state = 'open'
RETURNING ranges.range_id, ranges.epoch;

-- name: known_above
-- As in `page`.
SELECT seq FROM outcomes WHERE range_id = $1 AND seq > $2 AND seq <= $3
UNION ALL
SELECT seq FROM open_tries WHERE range_id = $1 AND seq > $2 AND seq <= $3;

-- name: opted_out
SELECT phone FROM suppressions WHERE phone = ANY($1::bigint[]);

-- name: raise_mark
UPDATE ranges SET mark = $5
WHERE range_id = $1 AND phone_number_id = $2 AND epoch = $3 AND mark = $4 AND state = 'open' AND $5 <= hi
RETURNING mark;

-- name: read_mark
-- Locks the row: a transaction of a connection that was lost may still be under way, and its COMMIT may yet arrive.
SELECT mark FROM ranges WHERE range_id = $1 AND phone_number_id = $2 AND epoch = $3 FOR UPDATE;

-- name: due_retries
SELECT open_tries.range_id, open_tries.seq, open_tries.try, recipients.phone, recipients.variables,
       open_tries.transient_failures, open_tries.pair_throttles, open_tries.unreachable,
       EXISTS (SELECT 1 FROM suppressions WHERE suppressions.phone = recipients.phone OFFSET 0) AS opted_out
FROM open_tries
JOIN recipients ON recipients.range_id = open_tries.range_id AND recipients.seq = open_tries.seq
               AND recipients.range_id = ANY((SELECT $1::bigint[])::bigint[])
WHERE open_tries.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND open_tries.state = 'deferred'
  AND open_tries.due_at <= now()
ORDER BY open_tries.due_at LIMIT $2;

-- name: lock_open_ranges
-- The fence of a retry's claim: rows of ranges that are still ours, still open, and of a campaign that runs.
SELECT range_id FROM ranges
WHERE range_id = ANY($1::bigint[]) AND phone_number_id = $2 AND epoch = $3 AND state = 'open'
  AND EXISTS (SELECT FROM campaigns WHERE campaigns.campaign_id = ranges.campaign_id AND campaigns.state = 'running')
ORDER BY range_id FOR UPDATE;

-- name: claim_retries
-- Who asked for silence since the look is passed over, by key (OFFSET 0): the next look skips that recipient.
-- Here and wherever lists of recipients are joined, naming their ranges twice bounds what is read, whatever plan was kept.
UPDATE open_tries
SET state = 'claimed', try = open_tries.try + 1, epoch = $4, phone_number_id = $5, since = now()
FROM unnest($1::bigint[], $2::integer[], $3::integer[], $6::bigint[]) AS wanted (range_id, seq, try, phone)
WHERE open_tries.range_id = wanted.range_id AND open_tries.seq = wanted.seq AND open_tries.range_id = ANY($1::bigint[])
  AND open_tries.state = 'deferred' AND open_tries.try = wanted.try
  AND NOT EXISTS (SELECT 1 FROM suppressions WHERE suppressions.phone = wanted.phone OFFSET 0)
RETURNING open_tries.range_id, open_tries.seq, open_tries.try;

-- name: count_claimed
UPDATE tallies SET deferred = tallies.deferred - claimed.count
FROM unnest($1::bigint[], $2::integer[]) AS claimed (range_id, count)
WHERE tallies.range_id = claimed.range_id;

-- name: postpone_retries
-- What the guard defers again keeps its try; only its time moves. That it is a doubt, too, is not forgotten.
-- Rows are locked without their tallies, so nobody is waited for: who is passed over is due, and guarded, again.
WITH locked AS MATERIALIZED (
    SELECT wanted.*
    FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::float8[], $5::text[])
        AS wanted (range_id, seq, try, wait_s, reason)
    CROSS JOIN LATERAL (
        SELECT FROM open_tries
        WHERE open_tries.range_id = wanted.range_id AND open_tries.seq = wanted.seq
          AND open_tries.state = 'deferred' AND open_tries.try = wanted.try
        FOR NO KEY UPDATE SKIP LOCKED) AS held)
UPDATE open_tries
SET due_at = now() + make_interval(secs => locked.wait_s),
    reason = CASE open_tries.reason WHEN 'resend' THEN 'resend' ELSE locked.reason END
FROM locked
WHERE open_tries.range_id = locked.range_id AND open_tries.seq = locked.seq AND open_tries.range_id = ANY($1::bigint[])
  AND open_tries.state = 'deferred' AND open_tries.try = locked.try;

-- name: claimed_by
SELECT range_id, seq, try, transient_failures, pair_throttles, unreachable FROM open_tries
WHERE range_id = ANY($1::bigint[]) AND state = 'claimed' AND phone_number_id = $2 AND epoch = $3;

-- name: lock_ranges
SELECT range_id FROM ranges
WHERE range_id = ANY((SELECT $1::bigint[])::bigint[]) AND phone_number_id = $2 AND epoch = $3 ORDER BY range_id FOR UPDATE;

-- name: perhaps_done
-- Of these ranges, those worth the locks: nobody in them waits for a first try or its reply, or they are no longer ours.
-- A look without locks: what it misses, the next one finds. Locks for every look would hold up all outcomes.
SELECT ranges.range_id FROM ranges JOIN tallies USING (range_id)
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND tallies.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND ((ranges.phone_number_id, ranges.epoch) IS DISTINCT FROM ($2, $3::bigint)
       OR tallies.recipients = tallies.accepted + tallies.sent + tallies.delivered + tallies.read + tallies.failed
                               + tallies.unknown + tallies.skipped + tallies.deferred);

-- name: finish_ranges
-- Every recipient has an outcome or is in doubt: nothing is left to send. Closed ranges only let go of the number.
-- The tallies must be locked: a deferral that is being recorded would otherwise end in a range that is done. A later try
-- under way hides behind an earlier one that was reached: should that one fail, nobody would wait for the later one.
UPDATE ranges
SET state = CASE WHEN ranges.state = 'open' THEN 'done' ELSE ranges.state END, phone_number_id = NULL
FROM tallies
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND tallies.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND tallies.range_id = ranges.range_id
  AND tallies.recipients = tallies.accepted + tallies.sent + tallies.delivered + tallies.read + tallies.failed
                         + tallies.unknown + tallies.skipped
  AND NOT EXISTS (SELECT 1 FROM open_tries
                  WHERE open_tries.range_id = ranges.range_id AND open_tries.state = 'claimed' OFFSET 0)
RETURNING ranges.range_id;

-- name: park_ranges
-- Only deferred recipients are left, and none is due soon: a number that is free then takes the range.
UPDATE ranges SET phone_number_id = NULL, due_at = waiting.due_at
FROM (SELECT range_id, min(due_at) AS due_at FROM open_tries
      WHERE range_id = ANY((SELECT $1::bigint[])::bigint[]) AND state = 'deferred' GROUP BY range_id) AS waiting,
     tallies
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND tallies.range_id = ANY((SELECT $1::bigint[])::bigint[])
  AND ranges.range_id = waiting.range_id AND tallies.range_id = ranges.range_id AND ranges.mark = ranges.hi
  AND waiting.due_at > now() + make_interval(secs => $2)
  AND tallies.recipients = tallies.accepted + tallies.sent + tallies.delivered + tallies.read + tallies.failed
                         + tallies.unknown + tallies.skipped + tallies.deferred
  AND NOT EXISTS (SELECT 1 FROM open_tries
                  WHERE open_tries.range_id = ranges.range_id AND open_tries.state = 'claimed' OFFSET 0)
RETURNING ranges.range_id;

-- name: release_ranges
-- A clean hand-over: nothing is under way in them, and the store proves it. Where something is claimed without an
-- outcome (a claim whose answer was lost), the range stays with its number: the next owner stamps it and names the
-- doubt, which nobody does for a free range.
UPDATE ranges
SET phone_number_id = NULL,
    due_at = CASE WHEN mark < hi THEN '-infinity'
                  ELSE coalesce((SELECT min(due_at) FROM open_tries
                                 WHERE open_tries.range_id = ranges.range_id AND open_tries.state = 'deferred'), '-infinity')
             END
WHERE range_id = ANY($1::bigint[]) AND phone_number_id = $2 AND epoch = $3
  AND NOT EXISTS (SELECT 1 FROM open_tries WHERE open_tries.range_id = ranges.range_id AND open_tries.state = 'claimed')
  AND NOT EXISTS (
      SELECT 1 FROM recipients
      WHERE recipients.range_id = ranges.range_id AND recipients.seq <= ranges.mark AND recipients.skip_reason IS NULL
        AND NOT EXISTS (SELECT 1 FROM outcomes
                        WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
        AND NOT EXISTS (SELECT 1 FROM open_tries
                        WHERE open_tries.range_id = recipients.range_id AND open_tries.seq = recipients.seq));

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
