-- The plan of a campaign: an audience becomes frozen recipients. The audience is staged in temporary tables of the session, which
-- write no log. Recipients are written in transactions of some ranges, so that none is long.

-- name: remove_recipients
DELETE FROM recipients WHERE range_id = ANY($1::bigint[]);

-- name: remove_retried
DELETE FROM retried_recipients WHERE range_id = ANY($1::bigint[]);

-- name: remove_range_counters
DELETE FROM range_counters WHERE range_id = ANY($1::bigint[]);

-- name: remove_ranges
DELETE FROM ranges WHERE range_id = ANY($1::bigint[]);

-- name: insert_campaign_files
INSERT INTO campaign_files (campaign_id, reference, path, sha256, mime_type)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]);
