-- The notifications about campaigns, numbers and the database.

-- name: add
-- $2, $3: the campaign or the number; both NULL: the database. $7: the seconds within which the same cause is told once; NULL: it
-- is told only once. Nothing is added if a notification that waits for the end of this time will tell it.
WITH latest AS (
    SELECT occurrence, tell_at FROM notifications
    WHERE subject = coalesce('campaign ' || $2::bigint::text, 'number ' || $3::text, 'database')
      AND event = $1 AND reason_code = $6
    ORDER BY occurrence DESC LIMIT 1
), added AS (
    INSERT INTO notifications (event, campaign_id, phone_number_id, state, reason, reason_code, occurrence, tell_at)
    SELECT $1, $2, $3, $4, $5, $6, coalesce((SELECT occurrence FROM latest), 0) + 1,
           greatest(now(), (SELECT tell_at FROM latest) + make_interval(secs => $7::float8))
    WHERE NOT EXISTS (SELECT 1 FROM latest WHERE tell_at > now() OR $7::float8 IS NULL)
    ON CONFLICT DO NOTHING
    RETURNING notification_id, tell_at
)
INSERT INTO notification_deliveries (notification_id, channel, due_at)
SELECT notification_id, channel, tell_at FROM added, unnest($8::text[]) AS channel;

-- name: told_of_messages
-- Of a message to one person: whether the same cause of such a message was told in the last $4 seconds. NULL: it is a campaign.
SELECT CASE WHEN campaigns.priority = 'urgent' THEN EXISTS (
    SELECT 1 FROM notifications JOIN campaigns AS others USING (campaign_id)
    WHERE others.priority = 'urgent' AND notifications.event = $2 AND notifications.reason_code = $3
      AND notifications.tell_at > now() - make_interval(secs => $4)) END
FROM campaigns WHERE campaigns.campaign_id = $1;

-- name: told_by_campaigns
-- Returns true if the campaigns of a stopped number tell of it: each of them is about to be paused, because all of its numbers
-- are stopped.
SELECT coalesce(bool_and(
    NOT EXISTS (SELECT 1 FROM numbers
                WHERE numbers.phone_number_id = ANY(campaigns.phone_number_ids) AND NOT numbers.stopped)), false)
FROM campaigns
WHERE state = 'running' AND planned_at IS NOT NULL AND $1::text = ANY(phone_number_ids);

-- name: any_due
SELECT EXISTS (SELECT 1 FROM notification_deliveries
               WHERE state = 'waiting' AND channel = ANY($1::text[]) AND due_at <= now() - make_interval(secs => $2));

-- name: give_up_old
-- Deliveries that did not succeed in $2 seconds. If there was no attempt, nobody had set up the channel.
UPDATE notification_deliveries AS delivery SET state = 'given_up', ended_at = now()
FROM notifications
WHERE notifications.notification_id = delivery.notification_id AND delivery.state = 'waiting'
  AND delivery.channel = ANY($1::text[]) AND delivery.due_at <= now()
  AND notifications.tell_at < now() - make_interval(secs => $2)
RETURNING delivery.channel, delivery.attempts, delivery.problem;

-- name: delete_outdated
-- Repeated notifications whose time has come, and whose cause no longer holds.
DELETE FROM notifications
WHERE tell_at > happened_at
  AND notification_id IN (
      SELECT notification_id FROM notification_deliveries
      WHERE state = 'waiting' AND channel = ANY($1::text[]) AND due_at <= now() AND attempts = 0)
  AND ((SELECT campaigns.state FROM campaigns WHERE campaigns.campaign_id = notifications.campaign_id)
           IS DISTINCT FROM notifications.state
       OR (SELECT NOT stopped FROM numbers WHERE numbers.phone_number_id = notifications.phone_number_id));

-- name: take_due
-- For $3 seconds no other process takes them.
WITH due AS (
    SELECT notification_id, channel FROM notification_deliveries
    WHERE state = 'waiting' AND channel = ANY($1::text[]) AND due_at <= now() - make_interval(secs => $2)
    ORDER BY due_at, notification_id LIMIT $4 FOR UPDATE SKIP LOCKED
)
UPDATE notification_deliveries AS delivery
SET attempts = attempts + 1, due_at = now() + make_interval(secs => $3)
FROM due
JOIN notifications USING (notification_id)
LEFT JOIN campaigns USING (campaign_id)
WHERE delivery.notification_id = due.notification_id AND delivery.channel = due.channel
RETURNING delivery.notification_id, delivery.channel, delivery.attempts, notifications.public_id, notifications.event,
          notifications.happened_at, notifications.campaign_id, campaigns.name AS campaign, campaigns.external_id, campaigns.on_unknown,
          notifications.phone_number_id, notifications.state, notifications.reason, notifications.reason_code;

-- name: record
-- The results of attempts. wait_s is the time until the next attempt of a delivery that continues to wait.
UPDATE notification_deliveries AS delivery
SET state = result.state, problem = result.problem,
    due_at = now() + make_interval(secs => result.wait_s),
    ended_at = CASE WHEN result.state <> 'waiting' THEN now() END
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::float8[])
    AS result (notification_id, channel, state, problem, wait_s)
WHERE delivery.notification_id = result.notification_id AND delivery.channel = result.channel
  AND delivery.state = 'waiting';

-- name: with_failures
-- Campaigns with a limit of failures whose excess is not told yet, and how many recipients failed. Statuses report failures after
-- the end too; an hour later there are few.
SELECT campaigns.campaign_id, campaigns.state, campaigns.max_failed, campaigns.recipients, counts.failed
FROM campaigns,
     LATERAL (SELECT coalesce(sum(failed), 0)::bigint AS failed FROM range_counters
              WHERE range_counters.campaign_id = campaigns.campaign_id) AS counts
WHERE campaigns.max_failed IS NOT NULL AND campaigns.planned_at IS NOT NULL
  AND (campaigns.state IN ('running', 'paused') OR campaigns.finished_at > now() - interval '1 hour')
  AND NOT EXISTS (SELECT 1 FROM notifications
                  WHERE notifications.subject = 'campaign ' || campaigns.campaign_id::text
                    AND notifications.event = $1)
ORDER BY campaigns.campaign_id;

-- name: undelivered
-- For each channel in the last week: how many wait after a failed attempt, how many were given up, and the last problem.
SELECT channel, count(*) FILTER (WHERE delivery.state = 'waiting') AS waiting,
       count(*) FILTER (WHERE delivery.state = 'given_up') AS given_up,
       (array_agg(problem ORDER BY notification_id DESC) FILTER (WHERE problem IS NOT NULL))[1] AS problem
FROM notification_deliveries AS delivery JOIN notifications USING (notification_id)
WHERE delivery.state <> 'delivered' AND attempts > 0 AND problem IS NOT NULL AND tell_at > now() - interval '7 days'
GROUP BY channel ORDER BY channel;
