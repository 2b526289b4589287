-- name: of_campaign
-- The samples of the numbers $2, between the first and the latest request of each.
SELECT phone_number_id, at, attempts, throttled FROM (
    SELECT phone_number_id, at, attempts, throttled FROM campaign_rates
    WHERE campaign_id = $1 AND phone_number_id = ANY ($2::text[])
    UNION ALL
    SELECT phone_number_id, first_attempt_at, 0, 0 FROM campaign_numbers
    WHERE campaign_id = $1 AND phone_number_id = ANY ($2::text[]) AND first_attempt_at IS NOT NULL
    UNION ALL
    SELECT phone_number_id, last_attempt_at, attempts, throttled FROM campaign_numbers
    WHERE campaign_id = $1 AND phone_number_id = ANY ($2::text[]) AND last_attempt_at IS NOT NULL) AS samples
ORDER BY phone_number_id, at, attempts;
