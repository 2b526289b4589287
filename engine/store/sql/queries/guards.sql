-- The guards of one recipient: hours and days in the recipient's time zone, the frequency cap, opt-outs.

-- name: lock_caps
-- One claim of a capped campaign at a time: two campaigns that claim the same person at once would not see each other.
SELECT pg_advisory_xact_lock(hashtextextended('drumbeat.frequency_cap', 0));

-- name: over_cap
-- Recipients whose person got as many messages as the cap allows: of any campaign, through any number, in either spelling of
-- the phone. A message counts if the service accepted it and did not report it failed, while it is under way, and while it is
-- in doubt. The recipient itself does not count. OFFSET 0 keeps each look by key.
SELECT wanted.range_id, wanted.seq
FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::integer[], $6::integer[])
    AS wanted (range_id, seq, phone, alias, messages, period_s)
CROSS JOIN LATERAL (
    SELECT count(*) AS messages
    FROM (SELECT range_id, seq FROM recipients
          WHERE phone IN (wanted.phone, wanted.alias) AND skip_reason IS NULL
            AND (range_id, seq) <> (wanted.range_id, wanted.seq) OFFSET 0) AS other
    WHERE EXISTS (
              SELECT FROM outcomes
              WHERE outcomes.range_id = other.range_id AND outcomes.seq = other.seq AND kind = 1 AND status <> 3
                AND coalesce(attempted_at, sent_at, delivered_at, read_at, now())
                    > now() - make_interval(secs => wanted.period_s) OFFSET 0)
       OR EXISTS (
              SELECT FROM pending_attempts
              WHERE pending_attempts.range_id = other.range_id AND pending_attempts.seq = other.seq
                AND (state = 'claimed'
                     OR (state = 'unknown' OR resend) AND since > now() - make_interval(secs => wanted.period_s)) OFFSET 0)
       OR EXISTS (
              SELECT FROM ranges
              WHERE ranges.range_id = other.range_id AND other.seq <= claimed_through
                AND NOT EXISTS (SELECT FROM outcomes
                                WHERE outcomes.range_id = other.range_id AND outcomes.seq = other.seq OFFSET 0)
                AND NOT EXISTS (SELECT FROM pending_attempts
                                WHERE pending_attempts.range_id = other.range_id AND pending_attempts.seq = other.seq
                                OFFSET 0) OFFSET 0)) AS counted
WHERE counted.messages >= wanted.messages;

-- name: put_off_held
-- A range whose time zones forbid sending is released until they allow it, with two exceptions: a message is under way in it (see
-- `release_ranges`), or nothing is left to send. In the second case it only has to be finished, which needs no open hour.
UPDATE ranges SET phone_number_id = NULL, due_at = $4, waits_for = $5
WHERE range_id = $1 AND phone_number_id = $2 AND epoch = $3
  AND (claimed_through < last_seq
       OR EXISTS (SELECT 1 FROM pending_attempts
                  WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'deferred'))
  AND NOT EXISTS (SELECT 1 FROM pending_attempts
                  WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'claimed')
  AND NOT EXISTS (
      SELECT 1 FROM recipients
      WHERE recipients.range_id = ranges.range_id AND recipients.seq <= ranges.claimed_through
        AND recipients.skip_reason IS NULL
        AND NOT EXISTS (SELECT 1 FROM outcomes
                        WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
        AND NOT EXISTS (SELECT 1 FROM pending_attempts
                        WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq))
RETURNING range_id;

-- name: put_off_free
-- All free ranges of a campaign with these time zones wait too: each would otherwise be taken and released, one by one.
UPDATE ranges SET due_at = $3, waits_for = $4
WHERE range_id IN (SELECT range_id FROM ranges
                   WHERE campaign_id = $1 AND state = 'open' AND phone_number_id IS NULL AND due_at < $3 AND time_zones = $2
                     AND claimed_through < last_seq
                   FOR UPDATE SKIP LOCKED);

-- name: opt_out_words
SELECT word, language, opts_in FROM opt_out_words ORDER BY opts_in, language, word;
