-- Stored recipients of a campaign that people look at before it is sent. No index holds lines or phones: a lookup reads the
-- recipients of the whole campaign.

-- name: campaign
SELECT template, options, audience_rows, rejected, duplicates, recipients, window_opens, window_closes, time_zone,
       start_at, expires_at
FROM campaigns WHERE campaign_id = $1;

-- name: first_recipient
SELECT phone, variables, line, skip_reason
FROM recipients JOIN ranges USING (range_id)
WHERE campaign_id = $1
ORDER BY ordinal, seq LIMIT 1;

-- name: recipient_of_line
SELECT phone, variables, line, skip_reason
FROM recipients JOIN ranges USING (range_id)
WHERE campaign_id = $1 AND line = $2
LIMIT 1;

-- name: recipient_of_phone
-- $2: the forms of one phone.
SELECT phone, variables, line, skip_reason
FROM recipients JOIN ranges USING (range_id)
WHERE campaign_id = $1 AND phone = ANY($2::bigint[])
LIMIT 1;

-- name: names_with_prefix
SELECT name FROM campaigns WHERE starts_with(name, $1);
