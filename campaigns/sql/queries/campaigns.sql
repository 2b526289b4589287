-- name: content_hash
-- What the campaign is made of: an edit changes it.
SELECT content_hash FROM campaigns WHERE campaign_id = $1;
