-- The rates at which numbers sent for a campaign, over time.

-- name: sample_rates
-- A sample of each number of the running campaigns whose latest one is old enough: 10 s, or a 200th of the campaign's age.
-- $1: only this campaign, or NULL. A campaign that runs again gets one at once, so a pause does not dilute the rate.
INSERT INTO campaign_rates (campaign_id, phone_number_id, at, attempts, throttled)
SELECT campaign_id, phone_number_id, now(), attempts, throttled
FROM campaigns JOIN campaign_numbers USING (campaign_id)
WHERE state = 'running' AND ($1::bigint IS NULL OR campaign_id = $1)
  AND NOT EXISTS (
      SELECT FROM campaign_rates AS earlier
      WHERE earlier.campaign_id = campaigns.campaign_id AND earlier.phone_number_id = campaign_numbers.phone_number_id
        AND earlier.at > now() - greatest(interval '10 seconds', (now() - started_at) / 200))
ON CONFLICT DO NOTHING;
