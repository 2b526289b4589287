-- The recipients in doubt, and the two ways to settle those that no event settles. "Probably not sent" means: for $n seconds no
-- event came about the attempt, events of its number still arrived after that, and they came without a gap for as long. A
-- receiver that was back only for a moment proves nothing: the service had not yet repeated the events that nobody received
-- before.

-- name: campaign
SELECT state, expires_at <= now() AS overdue FROM campaigns WHERE campaign_id = $1;

-- name: summary
SELECT pending_attempts.reason, pending_attempts.phone_number_id, count(*) AS recipients, min(pending_attempts.since) AS since,
       count(*) FILTER (WHERE pending_attempts.since <= now() - make_interval(secs => $2)
                          AND event_flow.last_event_at >= pending_attempts.since + make_interval(secs => $2)
                          AND event_flow.flows_since <= event_flow.last_event_at - make_interval(secs => $2))
           AS probably_not_sent,
       max(greatest(pending_attempts.since, event_flow.flows_since)) AS silence_begins,
       max(event_flow.last_event_at) AS last_event_at, now() AS now
FROM ranges
JOIN pending_attempts ON pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'unknown'
JOIN recipient_states ON recipient_states.range_id = pending_attempts.range_id
                     AND recipient_states.seq = pending_attempts.seq AND recipient_states.state = 'unknown'
LEFT JOIN event_flow ON event_flow.phone_number_id = pending_attempts.phone_number_id
WHERE ranges.campaign_id = $1
GROUP BY pending_attempts.reason, pending_attempts.phone_number_id
ORDER BY recipients DESC, pending_attempts.reason, pending_attempts.phone_number_id;

-- name: ranges_in_doubt
SELECT ranges.range_id FROM ranges
WHERE ranges.campaign_id = $1 AND ranges.range_id > $2
  AND EXISTS (SELECT 1 FROM pending_attempts
              WHERE pending_attempts.range_id = ranges.range_id AND pending_attempts.state = 'unknown')
ORDER BY ranges.range_id LIMIT $3;

-- name: campaigns_to_resend
-- Campaigns whose policy sends to recipients in doubt again. only_probably_not_sent: not to the others. $3: only this campaign;
-- NULL: all.
SELECT DISTINCT campaigns.campaign_id, campaigns.on_unknown = 'resend-silent' AS only_probably_not_sent
FROM pending_attempts
JOIN ranges ON ranges.range_id = pending_attempts.range_id
JOIN campaigns ON campaigns.campaign_id = ranges.campaign_id
LEFT JOIN event_flow ON event_flow.phone_number_id = pending_attempts.phone_number_id
WHERE pending_attempts.state = 'unknown' AND pending_attempts.transient_failures < $2
  AND ($3::bigint IS NULL OR campaigns.campaign_id = $3)
  AND campaigns.state IN ('running', 'paused', 'finished')
  AND (campaigns.expires_at IS NULL OR campaigns.expires_at > now())
  AND (campaigns.on_unknown = 'resend'
       OR campaigns.on_unknown = 'resend-silent'
          AND pending_attempts.since <= now() - make_interval(secs => $1)
          AND event_flow.last_event_at >= pending_attempts.since + make_interval(secs => $1)
          AND event_flow.flows_since <= event_flow.last_event_at - make_interval(secs => $1))
ORDER BY campaigns.campaign_id;

-- name: lock_ranges
SELECT range_id FROM ranges WHERE range_id = ANY($1::bigint[]) ORDER BY range_id FOR UPDATE;

-- name: waiting_untagged_events
-- The people whom events without a tag that wait to be applied concern, of numbers with attempts in doubt in these ranges.
SELECT DISTINCT phone_number_id, recipient
FROM (
    SELECT phone_number_id, recipient FROM inbox WHERE installation IS NULL
    UNION ALL
    SELECT unnest(phone_number_ids), unnest(recipients) FROM inbox_groups WHERE installation IS NULL) AS waiting
WHERE recipient IS NOT NULL
  AND phone_number_id IN (SELECT phone_number_id FROM pending_attempts
                          WHERE range_id = ANY($1::bigint[]) AND state = 'unknown');

-- name: defer_in_doubt
-- Makes recipients in doubt wait for a resend, which is a later attempt with a claim of its own.
-- $2  NULL: all of them; else only those that are probably not sent, by this many seconds
-- $3  what a resend takes from the budget of failures; $4 the end of that budget: a policy must not go on for ever
-- $5, $6  number and phone of the untagged events that wait, with both aliases of each phone
-- `waiting` holds the tagged events that wait for these ranges. It is read only for $2, and then once. Postgres evaluates an
-- OR in the order in which it is written: the cheap conditions come first.
WITH waiting AS MATERIALIZED (
    SELECT * FROM (
        SELECT range_id, seq FROM inbox
        UNION ALL
        SELECT unnest(range_ids), unnest(seqs) FROM inbox_groups) AS events
    WHERE range_id = ANY($1::bigint[])),
deferred AS (
    UPDATE pending_attempts
    SET state = 'deferred', resend = true, reason = 'resend', due_at = now(), since = now(),
        transient_failures = pending_attempts.transient_failures + $3
    FROM recipient_states
    WHERE pending_attempts.range_id = ANY($1::bigint[]) AND pending_attempts.state = 'unknown'
      AND pending_attempts.transient_failures < $4
      AND recipient_states.range_id = pending_attempts.range_id AND recipient_states.seq = pending_attempts.seq
      AND recipient_states.state = 'unknown'
      AND ($2::float8 IS NULL
           OR pending_attempts.since <= now() - make_interval(secs => $2)
              AND EXISTS (SELECT 1 FROM event_flow
                          WHERE event_flow.phone_number_id = pending_attempts.phone_number_id
                            AND event_flow.last_event_at >= pending_attempts.since + make_interval(secs => $2)
                            AND event_flow.flows_since <= event_flow.last_event_at - make_interval(secs => $2))
              AND NOT EXISTS (SELECT 1 FROM waiting
                              WHERE waiting.range_id = pending_attempts.range_id AND waiting.seq = pending_attempts.seq)
              AND NOT EXISTS (SELECT 1 FROM unnest($5::text[], $6::bigint[]) AS untagged (phone_number_id, phone)
                              WHERE untagged.phone_number_id = pending_attempts.phone_number_id
                                AND untagged.phone = recipient_states.phone))
    RETURNING pending_attempts.range_id),
counted AS (SELECT range_id, count(*) AS recipients FROM deferred GROUP BY range_id)
UPDATE range_counters
SET unknown = range_counters.unknown - counted.recipients, deferred = range_counters.deferred + counted.recipients
FROM counted
WHERE range_counters.range_id = counted.range_id
RETURNING range_counters.range_id, counted.recipients;

-- name: reopen_ranges
UPDATE ranges SET state = 'open', due_at = least(due_at, now())
WHERE range_id = ANY($1::bigint[]);

-- name: assume_sent
-- The attempt ends as accepted, without a wamid. A status that still comes finds it by its tag.
WITH settled AS (
    DELETE FROM pending_attempts USING recipient_states
    WHERE pending_attempts.range_id = ANY($1::bigint[]) AND pending_attempts.state = 'unknown'
      AND recipient_states.range_id = pending_attempts.range_id AND recipient_states.seq = pending_attempts.seq
      AND recipient_states.state = 'unknown'
    RETURNING pending_attempts.range_id, pending_attempts.seq, pending_attempts.attempt_no, pending_attempts.epoch,
              pending_attempts.phone_number_id),
recorded AS (
    INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, reason)
    SELECT range_id, seq, attempt_no, epoch, 1, 1, phone_number_id, 'assumed sent' FROM settled
    ON CONFLICT (range_id, seq, attempt_no) DO UPDATE
    SET kind = 1, status = greatest(outcomes.status, 1::smallint), reason = excluded.reason
    RETURNING range_id),
counted AS (SELECT range_id, count(*) AS recipients FROM recorded GROUP BY range_id)
UPDATE range_counters
SET unknown = range_counters.unknown - counted.recipients, accepted = range_counters.accepted + counted.recipients
FROM counted
WHERE range_counters.range_id = counted.range_id
RETURNING range_counters.range_id, counted.recipients;
