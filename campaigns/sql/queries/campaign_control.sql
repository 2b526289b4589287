-- What commands ask about campaigns: find, list, start, stop.

-- name: find
-- The campaign $2 if it is given. Else by its name $1, else by its external id, which `external:KEY` names even if a campaign
-- is called so.
SELECT campaign_id, name, external_id, state, reason, reason_code, template ->> 'name' AS template,
       template ->> 'language' AS language, phone_number_ids, on_unknown, start_at, expires_at, max_failed,
       audience_rows, rejected, duplicates, recipients, created_at, planned_at, started_at, finished_at,
       options ->> 'test_of' AS test_of, options ->> 'retry_of' AS retry_of
FROM campaigns
WHERE campaign_id = $2::bigint OR name = $1 OR external_id = $1 OR (starts_with($1, 'external:') AND external_id = substr($1, 10))
ORDER BY name = $1 DESC
LIMIT 1;

-- name: list
-- Newest first. $2: with those of `campaign test-send`. $3: in this state; $4: created since. Null means any.
SELECT campaign_id, name, external_id, state, reason, reason_code, template ->> 'name' AS template,
       template ->> 'language' AS language, phone_number_ids, on_unknown, start_at, expires_at, max_failed,
       audience_rows, rejected, duplicates, recipients, created_at, planned_at, started_at, finished_at,
       options ->> 'test_of' AS test_of, options ->> 'retry_of' AS retry_of
FROM campaigns
WHERE ($2 OR options ->> 'test_of' IS NULL)
  AND ($3::text IS NULL OR state = $3) AND ($4::timestamptz IS NULL OR created_at >= $4)
ORDER BY campaign_id DESC
LIMIT $1;

-- name: owned_numbers
SELECT phone_number_id FROM numbers WHERE NOT released AND leased_until > now();

-- name: held_numbers
-- The numbers among $2 that a run of another campaign than $1 has for itself, with that campaign.
SELECT coalesce(display_phone_number, phone_number_id) AS number, owner, campaigns.name AS campaign
FROM numbers JOIN campaigns ON campaigns.campaign_id = numbers.only_campaign
WHERE phone_number_id = ANY($2::text[]) AND only_campaign <> $1 AND NOT released AND leased_until > now()
ORDER BY phone_number_id;

-- name: unknown_counts
-- Recipients in doubt of these campaigns, and how many of them were pruned; a campaign that has none is missing.
SELECT campaign_id, sum(unknown)::bigint AS unknown, coalesce(sum(unknown) FILTER (WHERE pruned), 0)::bigint AS pruned
FROM (
    SELECT campaign_id, unknown, false AS pruned FROM range_counters
    WHERE campaign_id = ANY($1::bigint[]) AND unknown > 0
    UNION ALL
    SELECT campaign_id, (detail ->> 'unknown')::bigint, true FROM audit
    WHERE campaign_id = ANY($1::bigint[]) AND action = 'prune' AND detail ->> 'unknown' <> '0') AS parts
GROUP BY campaign_id;

-- name: names_like
SELECT name FROM campaigns ORDER BY campaign_id DESC LIMIT 1000;

-- name: is_future
SELECT coalesce(start_at > now(), false) FROM campaigns WHERE campaign_id = $1;

-- name: seconds_until
SELECT extract(epoch FROM $1::timestamptz - now())::float8;

-- name: active
-- What an emergency stop has to stop.
SELECT campaign_id, name FROM campaigns WHERE state IN ('scheduled', 'running') ORDER BY campaign_id;

-- name: waits_for_token
-- Whether the campaign, or any if it is NULL, is paused because the service refused the access token.
SELECT EXISTS (SELECT FROM campaigns
               WHERE state = 'paused' AND reason_code IN ('authentication_failed', 'permission_missing')
                 AND ($1::bigint IS NULL OR campaign_id = $1));

-- name: paused
SELECT campaign_id, name, reason, reason_code, started_at IS NOT NULL AS started,
       coalesce(start_at <= now(), false) AS is_late
FROM campaigns
WHERE state = 'paused' AND planned_at IS NOT NULL ORDER BY campaign_id;

-- name: set_order
-- NULL: it stays. $4: the share is removed.
UPDATE campaigns
SET priority = coalesce($2, priority), share_percent = CASE WHEN $4 THEN NULL ELSE coalesce($3, share_percent) END
WHERE campaign_id = $1
RETURNING priority, share_percent;

-- name: retries
-- Campaigns that send once more to those whom this one did not reach.
SELECT name FROM campaigns WHERE retry_of = $1 AND planned_at IS NOT NULL ORDER BY campaign_id;
