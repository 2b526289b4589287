-- Local files that headers of messages show, and their uploads.

-- name: of_campaign
-- Each file of a campaign for each of its numbers, and how long its upload can be sent.
SELECT reference, path, sha256, mime_type, phone_number_id, media_id, unlisted_at IS NULL AS is_listed,
       CASE WHEN media_id IS NULL THEN 0 ELSE greatest(extract(epoch FROM expires_at - now()), 0) END::float8 AS valid_s
FROM campaign_files CROSS JOIN numbers
LEFT JOIN uploads USING (sha256, mime_type, phone_number_id)
WHERE campaign_id = $1 AND phone_number_id = ANY($2::text[]);

-- name: path
SELECT path FROM campaign_files WHERE campaign_id = $1 AND reference = $2;

-- name: take_upload
-- Returns a row if the upload is due, and no other process has taken it: the time until which its id will be valid, if it is
-- uploaded now. $4: the seconds that an id must stay valid; $5: how long others wait for us; $6: how long an id is valid.
INSERT INTO uploads AS stored (sha256, mime_type, phone_number_id, taken_until)
VALUES ($1, $2, $3, now() + make_interval(secs => $5::float8))
ON CONFLICT (sha256, mime_type, phone_number_id) DO UPDATE SET taken_until = excluded.taken_until
WHERE (stored.media_id IS NULL OR stored.expires_at < now() + make_interval(secs => $4::float8)) AND stored.taken_until < now()
RETURNING now() + make_interval(secs => $6::float8) AS expires_at;

-- name: store_upload
UPDATE uploads SET media_id = $4, expires_at = $5, taken_until = '-infinity'
WHERE sha256 = $1 AND mime_type = $2 AND phone_number_id = $3;

-- name: release_upload
UPDATE uploads SET taken_until = '-infinity' WHERE sha256 = $1 AND mime_type = $2 AND phone_number_id = $3;
