-- Files that headers of messages show, as a plan found them.

-- name: insert_campaign_files
INSERT INTO campaign_files (campaign_id, reference, path, sha256, mime_type)
SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]);
