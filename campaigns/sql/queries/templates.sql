-- name: delete_unlisted
-- Templates that the service no longer lists. Campaigns keep a copy of theirs.
DELETE FROM templates
WHERE (name, language) NOT IN (SELECT name, language FROM unnest($1::text[], $2::text[]) AS listed (name, language));

-- name: list
SELECT name, language, status, status_reason, category, synced_at, definition FROM templates ORDER BY name, language;

-- name: of_name
SELECT name, language, status, status_reason, category, synced_at, definition FROM templates WHERE name = $1 ORDER BY language;
