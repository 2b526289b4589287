-- name: needed
-- Of these contents, those that a campaign shows whose recipients are kept: it may be sent, retried or cloned.
SELECT DISTINCT sha256 FROM campaign_files
WHERE sha256 = ANY ($1::text[]) AND EXISTS (SELECT FROM ranges WHERE ranges.campaign_id = campaign_files.campaign_id);
