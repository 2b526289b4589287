-- Stops that failed statuses ask for: see engine/store/status_stops.py.

-- name: reported
-- The news of our messages in the groups $1 and the taken events, in the order of their arrival: failures with any code but $2,
-- and first news that a message reached a phone. The latter are read only if failures are counted: if $3, or if there are some
-- here. $4, $5: the bounds of the locked ranges, which choose the partitions once. A failure that is recorded already is no news.
-- Neither is a failure of a message that was written before a person released its campaign. If the time of writing is not stored
-- yet, the service's time replaces it.
WITH events AS MATERIALIZED (
    SELECT * FROM (
        SELECT received_at, group_id AS place, position, event.range_id, event.seq, event.attempt_no, event.status,
               to_timestamp(event.us / 1e6::float8) AS status_at, event.phone_number_id, event.code, event.detail
        FROM inbox_groups
        CROSS JOIN LATERAL unnest(range_ids, seqs, attempt_nos, statuses, status_us, phone_number_ids, codes, details)
            WITH ORDINALITY AS event (range_id, seq, attempt_no, status, us, phone_number_id, code, detail, position)
        WHERE group_id = ANY ($1::bigint[])
        UNION ALL
        SELECT received_at, 0, row_number() OVER (), range_id, seq, attempt_no, status, status_at, phone_number_id, code, detail
        FROM applying_events WHERE range_id IS NOT NULL) AS event
    WHERE status > 3 OR (status = 3 AND (code IS NULL OR code <> ALL ($2::integer[])))),
news AS (
    SELECT DISTINCT ON (events.range_id, events.seq, events.attempt_no, events.status = 3)
           received_at, place, position, events.range_id, events.seq, status = 3 AS failed, events.code, detail,
           coalesce(recorded.phone_number_id, events.phone_number_id, '') AS phone_number_id,
           coalesce(recorded.attempted_at, status_at) AS attempted_at
    FROM events
    LEFT JOIN LATERAL (
        SELECT kind, phone_number_id, attempted_at, failed_at, coalesce(delivered_at, read_at) AS reached_at FROM outcomes
        WHERE outcomes.range_id = events.range_id AND outcomes.seq = events.seq AND outcomes.attempt_no = events.attempt_no
          AND outcomes.range_id BETWEEN $4 AND $5 OFFSET 0) AS recorded ON true
    WHERE ($3 OR EXISTS (SELECT FROM events WHERE status = 3))
      AND coalesce(recorded.kind, 1) = 1
      AND CASE WHEN status = 3 THEN recorded.failed_at ELSE recorded.reached_at END IS NULL
    ORDER BY events.range_id, events.seq, events.attempt_no, events.status = 3, received_at, place, position)
SELECT ranges.campaign_id, news.phone_number_id, failed, code, detail, attempted_at,
       part.template ->> 'name' AS template_name, part.template ->> 'language' AS template_language
FROM news
JOIN ranges ON ranges.range_id = news.range_id
JOIN campaigns ON campaigns.campaign_id = ranges.campaign_id
LEFT JOIN LATERAL (
    SELECT CASE WHEN template_index = 0 THEN campaigns.template ELSE campaigns.template -> 'others' -> (template_index - 1) END
    FROM recipients WHERE failed AND recipients.range_id = news.range_id AND recipients.seq = news.seq OFFSET 0)
    AS part (template) ON true
WHERE NOT failed OR attempted_at > campaigns.released_at
ORDER BY received_at, place, position;

-- name: runs
-- Runs that concern no campaign that sends or may send again no longer count. They are deleted: while a row is left, each batch
-- of statuses is read a second time.
WITH judged AS MATERIALIZED (
    SELECT run.ctid AS row_id, run.*, EXISTS (
               SELECT FROM campaigns
               WHERE state IN ('running', 'paused') AND (run.campaign_id IS NULL OR run.campaign_id = campaigns.campaign_id)
                 AND (run.phone_number_id IS NULL OR run.phone_number_id = ANY (phone_number_ids))) AS counts
    FROM status_failure_runs AS run),
ended AS (DELETE FROM status_failure_runs WHERE ctid IN (SELECT row_id FROM judged WHERE NOT counts))
SELECT campaign_id, phone_number_id, failures FROM judged WHERE counts;

-- name: clear_runs
DELETE FROM status_failure_runs;

-- name: add_runs
INSERT INTO status_failure_runs (campaign_id, phone_number_id, failures)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::integer[]);

-- name: add_stop
INSERT INTO status_stops (attempted_at, reason, reason_code, campaign_id, template_name, template_language, phone_number_id,
                          rest_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: take_stop
-- The oldest stop that no other process carries out now.
DELETE FROM status_stops
WHERE stop_id = (SELECT stop_id FROM status_stops ORDER BY stop_id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING attempted_at, reason, reason_code, campaign_id, template_name, template_language, phone_number_id,
          extract(epoch FROM rest_until - now())::float8 AS rest_s;

-- name: may_stop_number
-- Returns true unless a person let the number send again after the message was written.
SELECT resumed_at < $2 FROM numbers WHERE phone_number_id = $1 FOR UPDATE;

-- name: campaigns_to_stop
-- The campaign $2, or all, unless a person released them after a message was written.
SELECT campaign_id, name FROM campaigns
WHERE state IN ('scheduled', 'running') AND released_at < $1 AND ($2::bigint IS NULL OR campaign_id = $2)
ORDER BY campaign_id;
