-- The statements with which a worker reads campaigns a few times a second. $1: only this campaign, or NULL.

-- name: startable
-- Scheduled campaigns whose time has come.
SELECT campaign_id FROM campaigns
WHERE state = 'scheduled' AND planned_at IS NOT NULL AND (start_at IS NULL OR start_at <= now())
  AND ($1::bigint IS NULL OR campaign_id = $1)
ORDER BY campaign_id;

-- name: running
-- expires_in_s is NULL for no end, and for one at infinity, from which no server subtracts.
-- With a campaign $1, also the messages to one person that numbers of this process, $2, may send: they wait for no campaign.
SELECT campaign_id, name, reason, reason_code, template, phone_number_ids, window_opens, window_closes, time_zone,
       priority, share_percent, days, quiet_from, quiet_until, recipient_zones, cap_messages, cap_period_s,
       pause_at_failed IS NOT NULL
       OR EXISTS (SELECT FROM canaries WHERE canaries.campaign_id = campaigns.campaign_id AND passed_at IS NULL) AS is_watched,
       retry_of IS NOT NULL AS is_retry,
       CASE WHEN isfinite(expires_at) THEN extract(epoch FROM expires_at - now())::float8 END AS expires_in_s,
       now() AS database_now
FROM campaigns
WHERE state = 'running' AND planned_at IS NOT NULL
  AND ($1::bigint IS NULL OR campaign_id = $1 OR (priority = 'urgent' AND phone_number_ids && $2::text[]))
ORDER BY campaign_id;

-- name: overdue
-- Campaigns that expired before all recipients were sent to.
SELECT campaign_id, name FROM campaigns
WHERE state IN ('draft', 'scheduled', 'running', 'paused') AND planned_at IS NOT NULL AND expires_at <= now()
  AND ($1::bigint IS NULL OR campaign_id = $1)
ORDER BY campaign_id;

-- name: unclosed
-- Campaigns that ended a minute ago or more and still have open ranges: the process that closed them was killed.
-- Ranges that numbers hold are few, and looked up together: a living number would keep them, and their recipients pending.
SELECT campaign_id, state FROM campaigns
WHERE state IN ('cancelled', 'expired') AND coalesce(finished_at, '-infinity') < now() - interval '1 minute'
  AND ($1::bigint IS NULL OR campaign_id = $1)
  AND (EXISTS (SELECT 1 FROM ranges WHERE ranges.campaign_id = campaigns.campaign_id AND ranges.state = 'open'
                                      AND ranges.phone_number_id IS NULL)
       OR campaign_id IN (SELECT ranges.campaign_id FROM ranges
                          WHERE ranges.state = 'open' AND ranges.phone_number_id IS NOT NULL))
ORDER BY campaign_id;

-- name: state
SELECT state, reason FROM campaigns WHERE campaign_id = $1;
