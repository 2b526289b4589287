-- The statuses that were applied, for programs.

-- name: events
-- Up to $3 statuses after place $2 of row $1. A recipient that was pruned or erased has no phone.
SELECT feed.feed_id, event.position::integer AS position, event.status, event.status_us, event.code,
       campaigns.name AS campaign, campaigns.external_id, recipients.phone, recipients.line
FROM (SELECT * FROM status_feed WHERE feed_id >= $1 ORDER BY feed_id LIMIT $3 + 1) AS feed
CROSS JOIN LATERAL unnest(feed.range_ids, feed.seqs, feed.statuses, feed.status_us, feed.codes) WITH ORDINALITY
    AS event (range_id, seq, status, status_us, code, position)
LEFT JOIN ranges ON ranges.range_id = event.range_id
LEFT JOIN campaigns ON campaigns.campaign_id = ranges.campaign_id
LEFT JOIN recipients ON recipients.range_id = event.range_id AND recipients.seq = event.seq
WHERE feed.feed_id > $1 OR event.position > $2
ORDER BY feed.feed_id, event.position LIMIT $3;

-- name: take
-- Takes the right to post for $2 seconds, if nobody has it and an attempt is due.
INSERT INTO status_feed_position AS kept (feed_id, position, lease, leased_until)
VALUES (0, 0, $1, now() + make_interval(secs => $2))
ON CONFLICT (only_one) DO UPDATE SET lease = EXCLUDED.lease, leased_until = EXCLUDED.leased_until
WHERE kept.leased_until <= now() AND kept.due_at <= now()
RETURNING feed_id, position, attempts;

-- name: position
SELECT feed_id, position FROM status_feed_position;

-- name: posted
UPDATE status_feed_position
SET feed_id = $2, position = $3, attempts = 0, leased_until = '-infinity', due_at = now()
WHERE lease = $1;

-- name: not_posted
UPDATE status_feed_position
SET attempts = attempts + 1, leased_until = '-infinity', due_at = now() + make_interval(secs => $2)
WHERE lease = $1;

-- name: delete_old
-- A bounded part of the rows older than $1 seconds, the oldest first.
DELETE FROM status_feed
WHERE feed_id IN (SELECT feed_id FROM status_feed ORDER BY feed_id LIMIT 1000)
  AND applied_at < now() - make_interval(secs => $1);
