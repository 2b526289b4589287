-- name: numbers
-- The campaign's numbers: what they did for it so far, and how they send now. A rate is shown only while the owner's lease runs.
SELECT phone_number_id, numbers.display_phone_number,
       coalesce(numbers.manual_limit_per_s, numbers.service_limit_per_s, $3) AS limit_per_s,
       CASE WHEN leased THEN numbers.rate_per_s END AS rate_per_s,
       CASE WHEN leased THEN numbers.owner END AS owner,
       CASE WHEN leased THEN numbers.slowed_since END AS slowed_since,
       CASE WHEN leased AND numbers.only_campaign <> $1
            THEN (SELECT name FROM campaigns WHERE campaign_id = numbers.only_campaign) END AS held_by,
       coalesce(campaign_numbers.attempts, 0) AS attempts,
       coalesce(campaign_numbers.throttled, 0) AS throttled,
       campaign_numbers.last_attempt_at,
       coalesce(numbers.stopped, false) AS stopped,
       CASE WHEN numbers.suspended_until > now() THEN numbers.suspended_until END AS suspended_until,
       CASE WHEN numbers.stopped OR numbers.suspended_until > now() THEN numbers.suspended_reason END AS suspended_reason
FROM unnest($2::text[]) WITH ORDINALITY AS asked (phone_number_id, position)
LEFT JOIN numbers USING (phone_number_id)
LEFT JOIN (SELECT * FROM campaign_numbers WHERE campaign_id = $1) AS campaign_numbers USING (phone_number_id),
     LATERAL (SELECT NOT numbers.released AND numbers.leased_until > now() AS leased) AS lease
ORDER BY position;

-- name: stoppers
-- Who paused or cancelled each of these campaigns last, and when.
SELECT DISTINCT ON (campaign_id) campaign_id, actor, at FROM audit
WHERE campaign_id = ANY ($1::bigint[]) AND action IN ('pause', 'cancel')
ORDER BY campaign_id, audit_id DESC;
