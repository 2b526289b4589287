-- The identity of this installation, and the statements for a database that went back in time.

-- name: installation
-- elsewhere: the row was written in another server, timeline, database or table than the present one.
SELECT installation, database_identity.timeline IS NULL AS standby,
       (installation.system_identifier, installation.timeline, installation.database_oid, table_oid) IS DISTINCT FROM
       (database_identity.system_identifier, database_identity.timeline, database_identity.database_oid,
        installation.tableoid::bigint) AS elsewhere
FROM installation, database_identity;

-- name: identify
INSERT INTO installation (installation, system_identifier, timeline, database_oid, table_oid)
SELECT $1, system_identifier, timeline, database_oid, 'installation'::regclass::oid FROM database_identity
ON CONFLICT DO NOTHING;

-- name: lock
SELECT FROM installation FOR UPDATE;

-- name: may_have_sent
-- Campaigns that would send, or could be made to: any of them may have sent in the time that this database lost.
SELECT campaign_id FROM campaigns
WHERE planned_at IS NOT NULL AND state IN ('draft', 'scheduled', 'running', 'paused')
ORDER BY campaign_id;

-- name: hold_in_doubt
-- A policy would open finished campaigns again. Their recipients in doubt may be settled, or sent to, already.
UPDATE campaigns SET on_unknown = 'hold'
WHERE state = 'finished' AND on_unknown <> 'hold'
  AND EXISTS (SELECT FROM range_counters
              WHERE range_counters.campaign_id = campaigns.campaign_id AND range_counters.unknown > 0);

-- name: raise_epoch_floor
-- Raises it to the seconds since 1970: no number was ever taken over as often.
UPDATE installation SET epoch_floor = greatest(epoch_floor + 1, extract(epoch FROM now())::bigint);

-- name: accept_rollback
UPDATE installation
SET system_identifier = database_identity.system_identifier, timeline = database_identity.timeline,
    database_oid = database_identity.database_oid, table_oid = installation.tableoid
FROM database_identity;
