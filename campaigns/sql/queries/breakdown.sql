-- A campaign's recipients by one of their properties. The ranges $1 are read at once, and the caller
-- adds up: no statement takes long, and none holds a snapshot for long.

-- name: campaign
SELECT template, time_zone FROM campaigns WHERE campaign_id = $1;

-- name: groups
-- How many recipients of each key have which state, time to delivery, time to read, reply and price.
-- $2: the properties; each recipient is read once for all of them. $3: the time zone of hours. $4: whether prices are asked for, which differ by country. A phone begins with
-- its country, within five digits. A failed message costs nothing. Times are counted in steps of 5 %, which engine/core/durations.py turns into seconds again.
WITH recipient AS MATERIALIZED (
    SELECT state, code, reason, left(phone::text, 5) AS begins, template_index, phone_number_id, attempted_at,
           CASE WHEN state <> 'failed' THEN pricing END AS pricing,
           CASE WHEN $4 AND pricing IS NOT NULL AND state <> 'failed' THEN left(phone::text, 5) END AS prefix,
           CASE WHEN delivered_at - attempted_at IS NOT NULL
                THEN floor(ln(greatest(extract(epoch FROM delivered_at - attempted_at)::float8, 0.01)) / ln(1.05::float8))::integer
           END AS delivery,
           CASE WHEN read_at - attempted_at IS NOT NULL
                THEN floor(ln(greatest(extract(epoch FROM read_at - attempted_at)::float8, 0.01)) / ln(1.05::float8))::integer
           END AS reading,
           attempted_at IS NOT NULL
               AND EXISTS (SELECT FROM replies_to(phone, wamid, attempted_at)) AS replied
    FROM recipient_states
    WHERE range_id = ANY ($1::bigint[])),
keyed AS (
    SELECT property, state, pricing, prefix, delivery, reading, replied,
           coalesce(CASE property
                        WHEN 'state' THEN state
                        WHEN 'code' THEN CASE WHEN state = 'failed' THEN coalesce(code::text, reason) END
                        WHEN 'country' THEN begins
                        WHEN 'template' THEN template_index::text
                        WHEN 'number' THEN phone_number_id
                        WHEN 'hour' THEN to_char(attempted_at AT TIME ZONE $3, 'YYYY-MM-DD HH24:00')
                    END, '') AS key
    FROM recipient CROSS JOIN unnest($2::text[]) AS property)
SELECT property, key, state, pricing, prefix, delivery, reading, replied, count(*) AS recipients
FROM keyed
GROUP BY GROUPING SETS ((property, key, state), (property, key, pricing, prefix), (property, key, delivery),
                        (property, key, reading), (property, key, replied))
HAVING state IS NOT NULL OR pricing IS NOT NULL OR delivery IS NOT NULL OR reading IS NOT NULL OR replied;
