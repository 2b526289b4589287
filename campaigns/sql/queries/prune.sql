-- Dropping the months of campaigns that ended long ago.

-- name: months
-- Months that ended before the limit, by the partitions that exist. Days are those of UTC, as in range ids.
SELECT to_char(month, 'YYYY-MM') AS month, to_char(month, '_YYYY_MM') AS suffix,
       first_range_id(month) AS first_id, first_range_id((month + interval '1 month')::date) AS end_id
FROM (
    SELECT to_date(right(partition.relname, 7), 'YYYY_MM') AS month
    FROM pg_inherits JOIN pg_class AS partition ON partition.oid = pg_inherits.inhrelid
    WHERE pg_inherits.inhparent = 'ranges'::regclass
) AS partitions
WHERE month + interval '1 month' <= now() AT TIME ZONE 'UTC' - make_interval(days => $1)
ORDER BY month;

-- name: lock_campaigns
-- Locked, so that no resend reopens one of them before its recipients are dropped.
SELECT campaign_id, name, state, planned_at, finished_at,
       state IN ('finished', 'cancelled', 'expired') AND finished_at < now() - make_interval(days => $3) AS over
FROM campaigns
WHERE campaign_id IN (SELECT DISTINCT campaign_id FROM ranges WHERE range_id >= $1 AND range_id < $2)
ORDER BY campaign_id
FOR UPDATE;

-- name: count_recipients
SELECT coalesce(sum(recipients), 0)::bigint FROM range_counters WHERE range_id >= $1 AND range_id < $2;

-- name: count_messages
SELECT (SELECT count(*) FROM incoming_messages WHERE received_at < now() - make_interval(days => $1))
     + (SELECT count(*) FROM unreadable_events WHERE received_at < now() - make_interval(days => $1));

-- name: delete_messages
DELETE FROM incoming_messages WHERE received_at < now() - make_interval(days => $1);

-- name: delete_unreadable
DELETE FROM unreadable_events WHERE received_at < now() - make_interval(days => $1);

-- name: delete_results_writers
-- Of processes that ended long ago. One that still runs inserts its row again.
DELETE FROM counted_batches WHERE counted_at < now() - make_interval(days => $1);

-- name: delete_notifications
DELETE FROM notifications WHERE tell_at < now() - make_interval(days => $1);

-- name: keep_counts
-- The campaign's row stays, because its name must not be planned again. Its counts are kept here.
INSERT INTO audit (actor, action, campaign_id, detail)
SELECT $3, 'prune', campaign_id, jsonb_build_object(
    'month', $4::text, 'recipients', sum(recipients), 'deferred', sum(deferred), 'accepted', sum(accepted),
    'sent', sum(sent), 'delivered', sum(delivered), 'read', sum(read), 'failed', sum(failed),
    'unknown', sum(unknown), 'skipped', sum(skipped))
FROM range_counters
WHERE range_id >= $1 AND range_id < $2
GROUP BY campaign_id;

-- name: delete_retried
-- Of recipients whose earlier one is dropped. A link whose earlier recipient is still there stays: that one was retried.
DELETE FROM retried_recipients WHERE source_range_id >= $1 AND source_range_id < $2;

-- name: limit_wait
-- A DROP waits for all users of the table, and all others wait for it: better to try again than to wait long.
SET LOCAL lock_timeout = '100ms';

-- name: drop_statements
SELECT format('DROP TABLE %I', partition.relname) AS statement
FROM pg_inherits JOIN pg_class AS partition ON partition.oid = pg_inherits.inhrelid
WHERE pg_inherits.inhparent = ANY (ARRAY[
    'ranges', 'range_counters', 'claims', 'recipients', 'outcomes', 'pending_attempts']::regclass[])
  AND right(partition.relname, 8) = $1
ORDER BY partition.relname;
