-- name: startable
-- Scheduled campaigns whose time has come.
SELECT campaign_id FROM campaigns
WHERE state = 'scheduled' AND planned_at IS NOT NULL AND (start_at IS NULL OR start_at <= now())
  AND ($1::bigint IS NULL OR campaign_id = $1)
ORDER BY campaign_id;

-- name: running
SELECT campaign_id, name, reason, template, phone_number_ids, window_opens, window_closes, time_zone,
       extract(epoch FROM expires_at - now())::float8 AS expires_in_s
FROM campaigns
WHERE state = 'running' AND planned_at IS NOT NULL AND ($1::bigint IS NULL OR campaign_id = $1)
ORDER BY campaign_id;

-- name: overdue
-- Campaigns that expired before everybody was sent to.
SELECT campaign_id, name FROM campaigns
WHERE state IN ('draft', 'scheduled', 'running', 'paused') AND planned_at IS NOT NULL AND expires_at <= now()
  AND ($1::bigint IS NULL OR campaign_id = $1)
ORDER BY campaign_id;

-- name: unclosed
-- Campaigns that ended a while ago and still have open ranges: whoever closed them was killed. Those that numbers hold are few,
-- and looked up together: a number that lives would keep them, and their recipients pending, for as long.
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

-- name: installation
-- moved: the row was written in another server, timeline, database or table than it is read in.
SELECT installation, present_place.timeline IS NULL AS standby,
       (installation.system_identifier, installation.timeline, installation.database_oid, table_oid) IS DISTINCT FROM
       (present_place.system_identifier, present_place.timeline, present_place.database_oid, installation.tableoid::bigint)
           AS moved
FROM installation, present_place;

-- name: lock_installation
SELECT FROM installation FOR UPDATE;

-- name: raise_epoch_floor
-- The seconds since 1970: no number was ever taken over as often.
UPDATE installation SET epoch_floor = greatest(epoch_floor + 1, extract(epoch FROM now())::bigint);

-- name: hold_doubts
-- Of campaigns that are over, which a policy would open again: what is in doubt here may be settled, or sent again, already.
UPDATE campaigns SET on_unknown = 'hold'
WHERE state = 'finished' AND on_unknown <> 'hold'
  AND EXISTS (SELECT FROM range_counters WHERE range_counters.campaign_id = campaigns.campaign_id AND range_counters.unknown > 0);

-- name: accept_rollback
UPDATE installation
SET system_identifier = present_place.system_identifier, timeline = present_place.timeline,
    database_oid = present_place.database_oid, table_oid = installation.tableoid
FROM present_place;

-- name: may_have_sent
-- Campaigns that would send, or may be made to: in the moments that a database which went back does not know, any of them
-- may have.
SELECT campaign_id FROM campaigns
WHERE planned_at IS NOT NULL AND state IN ('draft', 'scheduled', 'running', 'paused')
ORDER BY campaign_id;

-- name: unknown_count
SELECT coalesce(sum(unknown), 0)::bigint FROM range_counters WHERE campaign_id = $1;

-- name: all_resting
-- When the first of a campaign's numbers returns, if every one of them rests, and why the first one does.
SELECT extract(epoch FROM min(suspended_until) - now())::float8 AS returns_in_s,
       (array_agg(phone_number_id || ': ' || coalesce(suspended_reason, 'suspended') ORDER BY suspended_until))[1] AS reason
FROM numbers WHERE phone_number_id = ANY($1::text[])
HAVING bool_and(coalesce(suspended_until > now(), false));
