-- name: campaign
SELECT state, expires_at <= now() AS overdue FROM campaigns WHERE campaign_id = $1;

-- name: doubts
-- What is in doubt and why. Probably not sent: no event for it while it was in doubt for $2 seconds, events of its number
-- still arrived after that, and have come for as long since their last gap.
SELECT open_tries.reason, open_tries.phone_number_id, count(*) AS recipients, min(open_tries.since) AS since,
       count(*) FILTER (WHERE open_tries.since <= now() - make_interval(secs => $2)
                          AND event_flow.last_event_at >= open_tries.since + make_interval(secs => $2)
                          AND event_flow.flows_since <= now() - make_interval(secs => $2))
           AS probably_not_sent
FROM ranges
JOIN open_tries ON open_tries.range_id = ranges.range_id AND open_tries.state = 'unknown'
JOIN recipient_states ON recipient_states.range_id = open_tries.range_id AND recipient_states.seq = open_tries.seq
                     AND recipient_states.state = 'unknown'
LEFT JOIN event_flow ON event_flow.phone_number_id = open_tries.phone_number_id
WHERE ranges.campaign_id = $1
GROUP BY open_tries.reason, open_tries.phone_number_id
ORDER BY recipients DESC, open_tries.reason, open_tries.phone_number_id;

-- name: doubtful_ranges
SELECT ranges.range_id FROM ranges
WHERE ranges.campaign_id = $1 AND ranges.range_id > $2
  AND EXISTS (SELECT 1 FROM open_tries WHERE open_tries.range_id = ranges.range_id AND open_tries.state = 'unknown')
ORDER BY ranges.range_id LIMIT $3;

-- name: campaigns_to_resend
-- Campaigns whose policy sends doubts again without a person's word. silent: only those that are probably not sent.
SELECT DISTINCT campaigns.campaign_id, campaigns.on_unknown = 'resend-silent' AS silent
FROM open_tries
JOIN ranges ON ranges.range_id = open_tries.range_id
JOIN campaigns ON campaigns.campaign_id = ranges.campaign_id
LEFT JOIN event_flow ON event_flow.phone_number_id = open_tries.phone_number_id
WHERE open_tries.state = 'unknown' AND open_tries.transient_failures < $2
  AND campaigns.state IN ('running', 'paused', 'finished')
  AND (campaigns.expires_at IS NULL OR campaigns.expires_at > now())
  AND (campaigns.on_unknown = 'resend'
       OR campaigns.on_unknown = 'resend-silent'
          AND open_tries.since <= now() - make_interval(secs => $1)
          AND event_flow.last_event_at >= open_tries.since + make_interval(secs => $1)
          AND event_flow.flows_since <= now() - make_interval(secs => $1))
ORDER BY campaigns.campaign_id;

-- name: lock_ranges
SELECT range_id FROM ranges WHERE range_id = ANY($1::bigint[]) ORDER BY range_id FOR UPDATE;

-- name: waiting_untagged
-- Of events without a tag that are not folded yet, of numbers that have doubts in these ranges.
SELECT DISTINCT phone_number_id, recipient
FROM (
    SELECT phone_number_id, recipient FROM inbox WHERE installation IS NULL
    UNION ALL
    SELECT unnest(phone_number_ids), unnest(recipients) FROM inbox_groups WHERE installation IS NULL) AS waiting
WHERE recipient IS NOT NULL
  AND phone_number_id IN (SELECT phone_number_id FROM open_tries WHERE range_id = ANY($1::bigint[]) AND state = 'unknown');

-- name: defer_doubts
-- Sent again as a later try, which is a claim of its own. $2 NULL: all; else as "probably not sent" above.
-- $3: what a resend takes from the budget of failures, $4 its end: a policy must not go round for ever.
-- $5, $6: number and phone of the waiting events without a tag, from `waiting_untagged`, in every spelling.
-- unfolded: what waits and is about these ranges, read only where a doubt's silence counts, and then once. What costs
-- little is asked before it: an OR keeps the order in which it is written.
WITH unfolded AS MATERIALIZED (
    SELECT * FROM (
        SELECT range_id, seq FROM inbox
        UNION ALL
        SELECT unnest(range_ids), unnest(seqs) FROM inbox_groups) AS waiting
    WHERE range_id = ANY($1::bigint[])),
deferred AS (
    UPDATE open_tries
    SET state = 'deferred', reason = 'resend', due_at = now(), since = now(),
        transient_failures = open_tries.transient_failures + $3
    FROM recipient_states
    WHERE open_tries.range_id = ANY($1::bigint[]) AND open_tries.state = 'unknown'
      AND open_tries.transient_failures < $4
      AND recipient_states.range_id = open_tries.range_id AND recipient_states.seq = open_tries.seq
      AND recipient_states.state = 'unknown'
      AND ($2::float8 IS NULL
           OR open_tries.since <= now() - make_interval(secs => $2)
              AND EXISTS (SELECT 1 FROM event_flow
                          WHERE event_flow.phone_number_id = open_tries.phone_number_id
                            AND event_flow.last_event_at >= open_tries.since + make_interval(secs => $2)
                            AND event_flow.flows_since <= now() - make_interval(secs => $2))
              -- its own event may have come and not be folded yet
              AND NOT EXISTS (SELECT 1 FROM unfolded
                              WHERE unfolded.range_id = open_tries.range_id AND unfolded.seq = open_tries.seq)
              AND NOT EXISTS (SELECT 1 FROM unnest($5::text[], $6::bigint[]) AS waiting (phone_number_id, phone)
                              WHERE waiting.phone_number_id = open_tries.phone_number_id
                                AND waiting.phone = recipient_states.phone))
    RETURNING open_tries.range_id),
counted AS (SELECT range_id, count(*) AS recipients FROM deferred GROUP BY range_id)
UPDATE tallies
SET unknown = tallies.unknown - counted.recipients, deferred = tallies.deferred + counted.recipients
FROM counted
WHERE tallies.range_id = counted.range_id
RETURNING tallies.range_id, counted.recipients;

-- name: reopen_ranges
UPDATE ranges SET state = 'open', due_at = least(due_at, now())
WHERE range_id = ANY($1::bigint[]);

-- name: assume_sent
-- The doubt ends as an accepted try without a wamid; a status that still comes finds it by its tag.
WITH settled AS (
    DELETE FROM open_tries USING recipient_states
    WHERE open_tries.range_id = ANY($1::bigint[]) AND open_tries.state = 'unknown'
      AND recipient_states.range_id = open_tries.range_id AND recipient_states.seq = open_tries.seq
      AND recipient_states.state = 'unknown'
    RETURNING open_tries.range_id, open_tries.seq, open_tries.try, open_tries.epoch, open_tries.phone_number_id),
recorded AS (
    INSERT INTO outcomes (range_id, seq, try, epoch, kind, status, phone_number_id, reason)
    SELECT range_id, seq, try, epoch, 1, 1, phone_number_id, 'assumed sent' FROM settled
    ON CONFLICT (range_id, seq, try) DO UPDATE SET kind = 1, status = greatest(outcomes.status, 1::smallint)
    RETURNING range_id),
counted AS (SELECT range_id, count(*) AS recipients FROM recorded GROUP BY range_id)
UPDATE tallies
SET unknown = tallies.unknown - counted.recipients, accepted = tallies.accepted + counted.recipients
FROM counted
WHERE tallies.range_id = counted.range_id
RETURNING tallies.range_id, counted.recipients;

-- name: audit
INSERT INTO audit (actor, action, campaign_id, detail) VALUES ($1, $2, $3, $4);
