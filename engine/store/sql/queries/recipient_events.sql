-- Events of recipients for programs: numbered, read in pages, posted, and deleted when they are old.

-- name: any_unnumbered
SELECT EXISTS (SELECT FROM event_groups WHERE last_id IS NULL);

-- name: lock_numbering
-- One process at a time. The statement after it sees what is committed by then.
SELECT last_id FROM event_numbering FOR UPDATE;

-- name: number
-- Gives numbers to the events of all committed groups. A group that is committed later gets later numbers.
WITH sums AS (
    SELECT group_id, $1 + sum(events) OVER (ORDER BY group_id) AS last_id FROM event_groups WHERE last_id IS NULL),
numbered AS (
    UPDATE event_groups SET last_id = sums.last_id FROM sums WHERE event_groups.group_id = sums.group_id
    RETURNING event_groups.last_id)
UPDATE event_numbering SET last_id = greatest(last_id, (SELECT max(last_id) FROM numbered));

-- name: bounds
SELECT last_id, deleted_id FROM event_numbering;

-- name: has_subscriptions
SELECT EXISTS (SELECT FROM subscriptions);

-- name: page
-- Up to $3 events after number $1 and through number $2. $4: the campaign; $5: the kinds; NULL: all. The range tells the
-- campaign, so a person who opted out belongs to none.
SELECT last_id - events + place AS id, event.kind, coalesce(event.at, noted_at) AS at, event.code,
       coalesce(recipients.phone, event.phone) AS phone, campaigns.name AS campaign, campaigns.external_id, sent.wamid,
       CASE event.kind WHEN 3 THEN sent.reason
                       WHEN 9 THEN (SELECT reason FROM suppressions WHERE suppressions.phone = event.phone) END AS reason
FROM event_groups
CROSS JOIN LATERAL unnest(kinds, times, range_ids, seqs, codes, phones)
    WITH ORDINALITY AS event (kind, at, range_id, seq, code, phone, place)
LEFT JOIN LATERAL (
    SELECT ranges.campaign_id FROM ranges WHERE ranges.range_id = event.range_id OFFSET 0) AS range ON true
LEFT JOIN campaigns ON campaigns.campaign_id = range.campaign_id
LEFT JOIN LATERAL (
    SELECT phone FROM recipients
    WHERE recipients.range_id = event.range_id AND recipients.seq = event.seq OFFSET 0) AS recipients ON true
LEFT JOIN LATERAL (
    SELECT wamid, reason FROM outcomes
    WHERE outcomes.range_id = event.range_id AND outcomes.seq = event.seq
    ORDER BY attempt_no DESC LIMIT 1) AS sent ON true
WHERE last_id > $1 AND last_id - events < $2 AND last_id < $2 + 1000
  AND last_id - events + place > $1 AND last_id - events + place <= $2
  AND ($4::bigint IS NULL OR range.campaign_id = $4)
  AND ($5::smallint[] IS NULL OR event.kind = ANY ($5))
ORDER BY last_id, place LIMIT $3;

-- name: delete_old
-- Deletes up to $2 groups that are older than $1 seconds, the oldest first.
WITH old AS (
    SELECT group_id FROM (SELECT group_id, noted_at FROM event_groups WHERE last_id IS NOT NULL ORDER BY last_id LIMIT $2) AS first
    WHERE noted_at < now() - make_interval(secs => $1)),
deleted AS (DELETE FROM event_groups WHERE group_id IN (SELECT group_id FROM old) RETURNING last_id)
UPDATE event_numbering SET deleted_id = greatest(deleted_id, (SELECT max(last_id) FROM deleted))
WHERE EXISTS (SELECT FROM deleted);

-- name: take_due
-- For $1 seconds no other process takes them.
UPDATE subscriptions AS subscription
SET due_at = now() + make_interval(secs => $1), taken = subscription.taken + 1
FROM (SELECT name FROM subscriptions, event_numbering
      WHERE url IS NOT NULL AND due_at <= now() AND through_id < last_id
      ORDER BY due_at FOR UPDATE OF subscriptions SKIP LOCKED) AS due
WHERE subscription.name = due.name
RETURNING subscription.name, url, secret, campaign_id, kinds, through_id, taken, attempts;

-- name: move
-- The program took the events through $3. Its taker $2 goes on for $4 seconds; 0: it ends. $5: events that were lost before.
UPDATE subscriptions SET through_id = $3, due_at = now() + make_interval(secs => $4), attempts = 0, problem = NULL, lost = lost + $5
WHERE name = $1 AND taken = $2
RETURNING through_id;

-- name: note_failure
-- The events wait for the next attempt, in $3 seconds.
UPDATE subscriptions SET due_at = now() + make_interval(secs => $3), attempts = attempts + 1, problem = $4
WHERE name = $1 AND taken = $2;
