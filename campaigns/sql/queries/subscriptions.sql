-- The subscriptions of programs to events of recipients.

-- name: add
-- It begins with what happens from now on. Returns nothing if the name is taken.
INSERT INTO subscriptions (name, url, secret, campaign_id, kinds, through_id)
SELECT $1, $2, $3, $4, $5, last_id FROM event_numbering
ON CONFLICT (name) DO NOTHING
RETURNING through_id;

-- name: listed
-- All, or the one with this name, without their secrets.
SELECT subscriptions.name, subscriptions.url, campaigns.name AS campaign, subscriptions.kinds, subscriptions.through_id,
       CASE WHEN subscriptions.url IS NOT NULL THEN greatest(0, event_numbering.last_id - subscriptions.through_id) END AS waiting,
       subscriptions.attempts, subscriptions.problem,
       CASE WHEN subscriptions.attempts > 0 THEN subscriptions.due_at END AS next_attempt_at,
       subscriptions.lost, subscriptions.created_at
FROM event_numbering, subscriptions LEFT JOIN campaigns USING (campaign_id)
WHERE $1::text IS NULL OR subscriptions.name = $1
ORDER BY subscriptions.name;

-- name: remove
DELETE FROM subscriptions WHERE name = $1 RETURNING name;

-- name: count
SELECT count(*) FROM subscriptions;

-- name: lock
-- The limit counts under it.
SELECT pg_advisory_xact_lock(hashtextextended('drumbeat.subscriptions', 0));
