-- The end of a campaign.

-- name: has_open_ranges
-- Returns true if anything is left to send, whatever number holds it.
SELECT EXISTS (SELECT 1 FROM ranges WHERE campaign_id = $1 AND state = 'open');

-- name: count_in_doubt
SELECT coalesce(sum(unknown), 0)::bigint FROM range_counters WHERE campaign_id = $1;

-- name: close_ranges
-- The next open ranges. From now on their watermarks do not move: a claim needs an open range.
UPDATE ranges SET state = 'closed', closed_reason = $2
WHERE range_id IN (
    SELECT range_id FROM ranges WHERE campaign_id = $1 AND state = 'open' ORDER BY range_id LIMIT $3 FOR UPDATE)
RETURNING range_id, claimed_through;

-- name: unclaimed
-- Counts the recipients above the watermark without a record: they were pending until their range closed.
SELECT recipients.range_id, count(*)::integer AS recipients
FROM unnest($1::bigint[], $2::integer[]) AS closed (range_id, claimed_through)
JOIN recipients ON recipients.range_id = closed.range_id AND recipients.seq > closed.claimed_through
WHERE recipients.skip_reason IS NULL
  AND NOT EXISTS (SELECT 1 FROM outcomes
                  WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
  AND NOT EXISTS (SELECT 1 FROM pending_attempts
                  WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq)
GROUP BY recipients.range_id;

-- name: deferred
SELECT range_id, seq FROM pending_attempts
WHERE range_id = ANY($1::bigint[]) AND state = 'deferred' ORDER BY range_id, seq;
