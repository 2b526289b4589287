-- Message templates as the service lists them.

-- name: store
-- Written in the order of the key, so that two sessions that store the list at once cannot deadlock.
INSERT INTO templates (name, language, template_id, status, category, definition, synced_at)
SELECT name, language, nullif(template_id, ''), status, nullif(category, ''), definition, now()
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::jsonb[])
    AS listed (name, language, template_id, status, category, definition)
ORDER BY name, language
ON CONFLICT (name, language) DO UPDATE
SET template_id = excluded.template_id,
    status = excluded.status,
    status_reason = CASE WHEN templates.status = excluded.status THEN templates.status_reason END,
    category = excluded.category,
    definition = excluded.definition,
    synced_at = excluded.synced_at;

-- name: of_names
SELECT name, language, definition FROM templates WHERE name = ANY($1::text[]);

-- name: statuses_of_names
SELECT name, language, status FROM templates WHERE name = ANY($1::text[]);

-- name: compare_those_of
-- The templates of a campaign are to be read from the service.
UPDATE templates SET compare_at = now()
WHERE (name, language) IN (
    SELECT part ->> 'name', part ->> 'language'
    FROM campaigns, jsonb_array_elements(jsonb_build_array(template) || coalesce(template -> 'others', '[]')) AS part
    WHERE campaign_id = $1);

-- name: take_changed
-- Templates that an event concerned. Other processes leave them alone for half a minute.
UPDATE templates SET compare_at = now() + interval '30 seconds' WHERE compare_at <= now()
RETURNING name, language, compare_at;

-- name: compared
-- Ends the comparison, unless another event came meanwhile.
UPDATE templates SET compare_at = NULL
FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS done (name, language, compare_at)
WHERE (templates.name, templates.language, templates.compare_at) = (done.name, done.language, done.compare_at);

-- name: campaigns_in
-- Planned campaigns in one of the states $1, with their templates.
SELECT campaign_id, name, template FROM campaigns
WHERE state = ANY ($1::text[]) AND planned_at IS NOT NULL ORDER BY campaign_id;
