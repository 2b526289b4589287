-- The metrics of the whole installation. Each process that is scraped asks at most once in five seconds.

-- name: campaigns
SELECT state, count(*) AS campaigns FROM campaigns WHERE planned_at IS NOT NULL GROUP BY state;

-- name: current_campaigns
-- Campaigns that have not ended, and those that ended in the last quarter of an hour, so that the end is seen too. The newest,
-- $1 at most: each becomes a label. A range costs a row here: 10,000 for ten million recipients.
SELECT name, state, reason_code, counts.*
FROM (SELECT campaign_id, name, state, reason_code FROM campaigns
      WHERE planned_at IS NOT NULL
        AND (state IN ('scheduled', 'running', 'paused') OR finished_at > now() - interval '15 minutes')
      ORDER BY campaign_id DESC LIMIT $1) AS current,
     LATERAL (SELECT coalesce(sum(pending), 0)::bigint AS pending, coalesce(sum(deferred), 0)::bigint AS deferred,
                     coalesce(sum(accepted), 0)::bigint AS accepted, coalesce(sum(sent), 0)::bigint AS sent,
                     coalesce(sum(delivered), 0)::bigint AS delivered, coalesce(sum(read), 0)::bigint AS read,
                     coalesce(sum(failed), 0)::bigint AS failed, coalesce(sum(unknown), 0)::bigint AS unknown,
                     coalesce(sum(skipped), 0)::bigint AS skipped
              FROM range_counters WHERE range_counters.campaign_id = current.campaign_id) AS counts
ORDER BY name;

-- name: numbers
-- The numbers of the account, whatever process owns them. event_age_s: the time since the last event; NULL: none so far.
SELECT numbers.phone_number_id, stopped, coalesce(suspended_until > now(), false) AS suspended,
       NOT released AND coalesce(leased_until > now(), false) AS owned,
       CASE WHEN last_event_at IS NOT NULL THEN greatest(0, extract(epoch FROM now() - last_event_at))::float8 END
           AS event_age_s,
       coalesce(in_doubt.recipients, 0) AS in_doubt
FROM numbers
LEFT JOIN event_flow ON event_flow.phone_number_id = numbers.phone_number_id
LEFT JOIN (SELECT phone_number_id, count(*) AS recipients FROM pending_attempts WHERE state = 'unknown'
           GROUP BY phone_number_id) AS in_doubt ON in_doubt.phone_number_id = numbers.phone_number_id
ORDER BY numbers.phone_number_id LIMIT $1;

-- name: inbox
-- unmatched: events that matched no attempt yet; they wait for up to 8 days, so they are no backlog. Counted up to $1.
SELECT coalesce((SELECT sum(events) FROM inbox_groups), 0)::bigint AS waiting,
       coalesce((SELECT greatest(0, extract(epoch FROM clock_timestamp() - received_at)) FROM inbox_groups
                 ORDER BY group_id LIMIT 1), 0)::float8 AS oldest_s,
       (SELECT count(*) FROM (SELECT FROM inbox LIMIT $1) AS counted) AS unmatched;
