-- name: list
SELECT phone_number_id, display_phone_number, verified_name, quality_rating, messaging_limit_tier, known_tier, status,
       coalesce(manual_limit_per_s, service_limit_per_s, $1) AS limit_per_s,
       manual_limit_per_s IS NOT NULL AS limit_is_manual,
       CASE WHEN NOT released AND leased_until > now() THEN rate_per_s END AS rate_per_s,
       CASE WHEN NOT released AND leased_until > now() THEN coalesce(achieved_per_s, 0) ELSE 0 END AS achieved_per_s,
       CASE WHEN NOT released AND leased_until > now() THEN slowed_since END AS slowed_since,
       (SELECT coalesce(sum(throttled), 0)::bigint FROM campaign_numbers
        WHERE campaign_numbers.phone_number_id = numbers.phone_number_id) AS throttles,
       CASE WHEN NOT released AND leased_until > now() THEN owner END AS owner,
       stopped,
       CASE WHEN suspended_until > now() THEN suspended_until END AS suspended_until,
       CASE WHEN stopped OR suspended_until > now() THEN suspended_reason END AS suspended_reason,
       EXISTS (SELECT FROM campaigns
               WHERE state = 'running' AND reason_code = 'service_away'
                 AND numbers.phone_number_id = ANY (campaigns.phone_number_ids)) AS service_away,
       unlisted_at,
       synced_at,
       ARRAY(SELECT name FROM campaigns
             WHERE state NOT IN ('finished', 'cancelled', 'expired')
               AND numbers.phone_number_id = ANY (campaigns.phone_number_ids)
             ORDER BY campaign_id) AS campaigns
FROM numbers
ORDER BY phone_number_id;

-- name: set_limit
UPDATE numbers SET manual_limit_per_s = $2 WHERE phone_number_id = $1 RETURNING phone_number_id;

-- name: lock
-- What stops the number now, if anything.
SELECT stopped, coalesce(suspended_until > now(), false) AS rests, suspended_reason
FROM numbers WHERE phone_number_id = $1 FOR UPDATE;

-- name: resume
-- A person ends a stop, or a rest before its time.
UPDATE numbers SET stopped = false, suspended_until = NULL, suspended_reason = NULL, resumed_at = now()
WHERE phone_number_id = $1;

-- name: paused_campaigns
-- Campaigns that were paused because all of their numbers were stopped, this one among them.
SELECT name FROM campaigns
WHERE state = 'paused' AND reason_code = 'numbers_stopped' AND $1 = ANY (phone_number_ids)
ORDER BY campaign_id;

-- name: stopped
-- Which of these numbers only a person may let send again, and why.
SELECT phone_number_id, coalesce(suspended_reason, 'stopped') AS reason FROM numbers
WHERE stopped AND phone_number_id = ANY ($1::text[]) ORDER BY phone_number_id;

-- name: names
SELECT phone_number_id,
    coalesce(nullif(concat_ws(' ', verified_name, display_phone_number), ''), phone_number_id) AS called
FROM numbers;
