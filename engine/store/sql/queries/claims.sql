-- Claims of first attempts: the watermark of a range.

-- name: page
-- A range's recipients above its watermark, in one page.
-- Nobody above the watermark was sent to, unless the database went back in time: then replies and events may report messages
-- that it does not know. So recipients with any record are left out; those that wait or are in doubt are claimed as retries.
SELECT seq, phone, variables, template_index FROM recipients
WHERE range_id = $1 AND seq > $2 AND skip_reason IS NULL
  AND seq <> ALL (ARRAY(SELECT seq FROM outcomes WHERE range_id = $1 AND seq > $2
                        UNION ALL SELECT seq FROM pending_attempts WHERE range_id = $1 AND seq > $2))
ORDER BY seq;

-- name: advance_watermarks
-- The same as advance_watermark, for several numbers with one range each. A page may have waited through a pause. So a watermark
-- does not rise if, since the page was read, a recipient opted out or an event reported a message to one. A locked range is
-- skipped, because it would delay the others. The fence is compared on the row that is locked, and again on the row that changes.
-- IS NOT DISTINCT FROM keeps the planner from looking rows up by their number, whose index still holds dead entries. Lists of
-- phones come as text, which costs the driver less. OFFSET 0 keeps the looks by key. (SELECT ...) hides the length of an array
-- from the planner, which would otherwise plan each call anew: that costs more than to run it.
WITH wanted AS (
    SELECT * FROM unnest((SELECT $1::bigint[]), (SELECT $2::text[]), (SELECT $3::bigint[]), (SELECT $4::integer[]),
                         (SELECT $5::integer[]), (SELECT $6::text[]))
                  AS wanted (range_id, phone_number_id, epoch, old_claimed_through, new_claimed_through, phones)),
locked AS MATERIALIZED (
    SELECT wanted.* FROM wanted
    CROSS JOIN LATERAL (
        SELECT FROM ranges
        WHERE range_id = wanted.range_id AND claimed_through = wanted.old_claimed_through AND state = 'open'
          AND wanted.new_claimed_through <= last_seq
          AND (phone_number_id, epoch) IS NOT DISTINCT FROM (wanted.phone_number_id, wanted.epoch)
        FOR NO KEY UPDATE SKIP LOCKED) AS held
    WHERE NOT EXISTS (SELECT 1 FROM suppressions WHERE phone = ANY(wanted.phones::bigint[]) OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM outcomes
                      WHERE outcomes.range_id = wanted.range_id
                        AND seq > wanted.old_claimed_through AND seq <= wanted.new_claimed_through
                      OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM pending_attempts
                      WHERE pending_attempts.range_id = wanted.range_id
                        AND seq > wanted.old_claimed_through AND seq <= wanted.new_claimed_through
                      OFFSET 0))
UPDATE ranges SET claimed_through = locked.new_claimed_through FROM locked
WHERE ranges.range_id = ANY((SELECT $1::bigint[])::bigint[]) AND ranges.range_id = locked.range_id
  AND ranges.phone_number_id = locked.phone_number_id
  AND ranges.epoch = locked.epoch AND ranges.claimed_through = locked.old_claimed_through AND ranges.state = 'open'
RETURNING ranges.range_id, ranges.epoch;

-- name: recorded_above
-- Recipients above the watermark, up to $3, that have a record; see `page`.
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
-- Locks the row: a transaction of a lost connection may still be under way, and its COMMIT may yet arrive.
SELECT claimed_through FROM ranges WHERE range_id = $1 AND phone_number_id = $2 AND epoch = $3 FOR UPDATE;
