-- The recipients who may have been sent to in the time that a restored database does not know.

-- name: state
-- The row is locked, so that the campaign stays paused until the commit.
SELECT state FROM campaigns WHERE campaign_id = $1 FOR UPDATE;

-- name: hold
-- A policy would send to them again at once, or call them probably not sent: their events may have come before the loss.
UPDATE campaigns SET on_unknown = 'hold' WHERE campaign_id = $1;

-- name: ranges
-- The ranges in which the campaign may have sent for $2 seconds after the last moment that the database knows.
--   * Those that a number held then.
--   * The next free ones, in the order in which numbers take them, until the numbers' limits are used up. One second more,
--     because a limit holds in any second. At the end each number may have stood in the middle of two ranges.
--   * Those with recipients who were to be tried again, or are being tried.
WITH reach AS (
    SELECT coalesce(sum(coalesce(manual_limit_per_s, service_limit_per_s, 80)), 0) * ($2::float8 + 1)
           + 2 * count(*) * (SELECT max(last_seq) FROM ranges WHERE campaign_id = $1) AS recipients
    FROM numbers WHERE phone_number_id = ANY((SELECT phone_number_ids FROM campaigns WHERE campaign_id = $1)::text[])),
free AS (
    SELECT range_id, sum(last_seq - claimed_through) OVER (ORDER BY due_at, ordinal) - (last_seq - claimed_through) AS before
    FROM ranges WHERE campaign_id = $1 AND state = 'open' AND phone_number_id IS NULL)
SELECT range_id FROM ranges WHERE campaign_id = $1 AND state = 'open' AND phone_number_id IS NOT NULL
UNION
SELECT range_id FROM free, reach WHERE free.before < reach.recipients
UNION
SELECT ranges.range_id FROM ranges JOIN pending_attempts USING (range_id)
WHERE ranges.campaign_id = $1 AND pending_attempts.state IN ('deferred', 'claimed')
ORDER BY range_id;

-- name: lock_ranges
SELECT FROM ranges WHERE range_id = ANY($1::bigint[]) ORDER BY range_id FOR UPDATE;

-- name: put_in_doubt
-- First attempts without a record, above the watermark or below it: an owner that outlived its database raises the watermark over
-- those it had sent to. Also the next attempt of recipients who waited for one that was due by now. An outcome or an event that
-- still comes settles them. No number is noted, because nobody knows it. Without a number, the absence of events never means
-- "probably not sent".
WITH first_attempts AS (
    INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)
    SELECT recipients.range_id, recipients.seq, 1, 'unknown', 0, '', $2
    FROM ranges JOIN recipients USING (range_id)
    WHERE ranges.range_id = ANY($1::bigint[]) AND ranges.state = 'open' AND recipients.skip_reason IS NULL
      AND NOT EXISTS (SELECT 1 FROM outcomes
                      WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
      AND NOT EXISTS (SELECT 1 FROM pending_attempts
                      WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq)
    RETURNING range_id),
waiting AS MATERIALIZED (
    SELECT range_id, seq, state FROM pending_attempts
    WHERE range_id = ANY($1::bigint[]) AND (state = 'claimed' OR state = 'deferred' AND due_at <= now())),
later_attempts AS (
    UPDATE pending_attempts
    SET state = 'unknown', attempt_no = attempt_no + CASE waiting.state WHEN 'deferred' THEN 1 ELSE 0 END,
        epoch = 0, phone_number_id = '', reason = $2, since = now(), resend = false
    FROM waiting WHERE pending_attempts.range_id = waiting.range_id AND pending_attempts.seq = waiting.seq),
counted AS (
    SELECT range_id, count(*) AS in_doubt, count(*) FILTER (WHERE state = 'deferred') AS waited
    FROM (SELECT range_id, 'pending' AS state FROM first_attempts
          UNION ALL SELECT range_id, state FROM waiting) AS attempts
    GROUP BY range_id)
UPDATE range_counters
SET unknown = range_counters.unknown + counted.in_doubt, deferred = range_counters.deferred - counted.waited
FROM counted WHERE range_counters.range_id = counted.range_id
RETURNING counted.in_doubt;
