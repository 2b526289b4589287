-- Messages that people wrote, and which of them answer a campaign. `replies_to` is the rule of what an answer is.

-- name: of_ranges
-- All answers to the recipients of some ranges.
SELECT recipient_states.phone, message.sent_at, message.type, message.body, message.wamid, message.phone_number_id
FROM recipient_states
CROSS JOIN LATERAL replies_to(phone, recipient_states.wamid, attempted_at) AS message
WHERE range_id = ANY ($1::bigint[]) AND attempted_at IS NOT NULL
ORDER BY ordinal, seq, message.sent_at;

-- name: received
-- The newest messages, below the key $1, $2.
SELECT wamid, sender, type, sent_at, body, phone_number_id, body #>> '{context,id}' AS quotes
FROM incoming_messages
WHERE $1::timestamptz IS NULL OR (sent_at, wamid) < ($1, $2::text)
ORDER BY sent_at DESC, wamid DESC LIMIT $3;

-- name: received_since_start
-- The same, of those that may answer the campaign $4.
SELECT wamid, sender, type, sent_at, body, message.phone_number_id, body #>> '{context,id}' AS quotes
FROM incoming_messages AS message, campaigns
WHERE campaigns.campaign_id = $4 AND sent_at >= date_trunc('second', campaigns.started_at)
  AND (message.phone_number_id IS NULL OR message.phone_number_id = ANY (campaigns.phone_number_ids))
  AND ($1::timestamptz IS NULL OR (sent_at, wamid) < ($1, $2::text))
ORDER BY sent_at DESC, wamid DESC LIMIT $3;

-- name: quoting
-- Those of the messages $2 whose quoted messages $3 are ours, and whether they are of the campaign $1.
SELECT message.wamid, ranges.campaign_id = $1 AS of_campaign
FROM unnest($2::text[], $3::text[]) AS message (wamid, quoted)
JOIN outcomes ON hashtextextended(outcomes.wamid, 0) = hashtextextended(message.quoted, 0)
             AND outcomes.wamid = message.quoted
JOIN ranges USING (range_id);

-- name: is_from_recipient
-- Whether a phone, in the spellings $2 and $3, got a message of the campaign $1 in the week before $4. After `look_by_filter`.
WITH found AS MATERIALIZED (SELECT range_id, seq FROM recipients WHERE phone = $2 OR phone = $3)
SELECT EXISTS (
    SELECT FROM found JOIN ranges USING (range_id)
    CROSS JOIN LATERAL (
        SELECT min(attempted_at) AS attempted_at FROM outcomes
        WHERE outcomes.range_id = found.range_id AND outcomes.seq = found.seq OFFSET 0) AS attempt
    WHERE ranges.campaign_id = $1 AND $4 >= date_trunc('second', attempted_at) AND $4 < attempted_at + interval '7 days');

-- name: suppressed_among
SELECT phone FROM suppressions WHERE phone = ANY ($1::bigint[]);
