-- Stored recipients of a campaign that people look at before it is sent.

-- name: campaign
SELECT template, options, audience_rows, rejected, duplicates, recipients, window_opens, window_closes, time_zone,
       days, quiet_from, quiet_until, cap_messages, cap_period_s, start_at, expires_at
FROM campaigns WHERE campaign_id = $1;

-- name: time_zones
-- How many recipients are to be sent to in each set of time zones; nothing if no rule is in the recipient's zone.
SELECT ranges.time_zones, sum(range_counters.recipients - range_counters.skipped)::bigint AS recipients
FROM ranges JOIN range_counters USING (range_id)
WHERE ranges.campaign_id = $1 AND ranges.time_zones IS NOT NULL
GROUP BY 1;

-- name: first_recipient
SELECT phone, variables, template_index, line, skip_reason
FROM recipients
WHERE range_id = (SELECT range_id FROM ranges WHERE campaign_id = $1 ORDER BY ordinal LIMIT 1)
ORDER BY seq LIMIT 1;

-- name: recipient_of_line
-- No index holds lines. Ranges begin in the order of their lines, so the last one that begins at or before the line $2 is found
-- by halving. Where ranges are of time zones, several take turns, and the line may be in an earlier one.
WITH RECURSIVE halves (low, high) AS (
    SELECT min(ordinal), max(ordinal) FROM ranges WHERE campaign_id = $1
    UNION ALL
    SELECT CASE WHEN line <= $2 THEN middle ELSE low END, CASE WHEN line <= $2 THEN high ELSE middle - 1 END
    FROM halves,
         LATERAL (SELECT (low + high + 1) / 2 AS middle) AS half,
         LATERAL (SELECT line FROM (SELECT range_id FROM ranges WHERE campaign_id = $1 AND ordinal <= middle
                                    ORDER BY ordinal DESC LIMIT 1) AS begun
                  JOIN recipients USING (range_id) WHERE seq = 1) AS first
    WHERE low < high),
begun AS (
    SELECT range_id, last_seq FROM ranges
    WHERE campaign_id = $1 AND ordinal <= (SELECT low FROM halves WHERE low >= high)
    ORDER BY ordinal DESC
    LIMIT (SELECT CASE WHEN recipient_zones IS NULL THEN 1 END FROM campaigns WHERE campaign_id = $1))
SELECT recipients.phone, recipients.variables, recipients.template_index, recipients.line, recipients.skip_reason
FROM begun JOIN recipients AS last ON last.range_id = begun.range_id AND last.seq = last_seq AND last.line >= $2
JOIN recipients ON recipients.range_id = begun.range_id AND recipients.line = $2
LIMIT 1;

-- name: recipient_of_key
-- $2, $3: recipients of any campaign.
SELECT phone, variables, template_index, line, skip_reason
FROM unnest($2::bigint[], $3::integer[]) AS found (range_id, seq)
JOIN ranges USING (range_id) JOIN recipients USING (range_id, seq)
WHERE campaign_id = $1
LIMIT 1;

-- name: names_with_prefix
SELECT name FROM campaigns WHERE starts_with(name, $1);

-- name: tests_of
-- The latest tests of a campaign, whose names begin with $1. Each has one recipient; nothing is its status before an attempt.
WITH tests AS MATERIALIZED (
    SELECT campaign_id, name FROM campaigns
    WHERE starts_with(name, $1) AND planned_at IS NOT NULL ORDER BY campaign_id DESC LIMIT 5
)
SELECT name,
       CASE WHEN read > 0 THEN 'read' WHEN delivered > 0 THEN 'delivered' WHEN sent > 0 THEN 'sent'
            WHEN accepted > 0 THEN 'accepted' WHEN failed > 0 THEN 'failed' WHEN unknown > 0 THEN 'in_doubt'
            WHEN skipped > 0 THEN 'skipped' END AS status
FROM tests JOIN range_counters USING (campaign_id)
ORDER BY campaign_id DESC;

-- name: categories
-- As the service lists these templates now; those that it no longer lists are missing.
SELECT name, language, category
FROM templates JOIN unnest($1::text[], $2::text[]) AS wanted (name, language) USING (name, language);

-- name: numbers
-- $2: the limit of a number for which neither the service nor a person set one.
SELECT phone_number_id, coalesce(manual_limit_per_s, service_limit_per_s, $2) AS limit_per_s,
       messaging_limit_tier AS tier, known_tier
FROM numbers WHERE phone_number_id = ANY($1::text[]) ORDER BY phone_number_id;

-- name: recipients_by_prefix
-- A phone for each template and beginning of $2 digits, and how many recipients share them; without those that the plan
-- skipped.
SELECT template_index, min(phone) AS phone, count(*) AS recipients
FROM recipients JOIN ranges USING (range_id)
WHERE campaign_id = $1 AND skip_reason IS NULL
GROUP BY template_index, left(phone::text, $2);

-- name: skipped
SELECT skip_reason AS reason, count(*) AS recipients
FROM recipients JOIN ranges USING (range_id)
WHERE campaign_id = $1 AND skip_reason IS NOT NULL
GROUP BY skip_reason ORDER BY skip_reason;
