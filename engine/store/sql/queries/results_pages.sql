-- Pages of campaigns, recipients and audits, each continued by the key of its last row.

-- name: campaigns
-- Newest first, below the id $1. accepted: messages that the service accepted, as the results writers counted them. $4: with
-- those of `campaign test-send`.
SELECT campaign_id, name, state, reason, reason_code, template ->> 'name' AS template,
       template ->> 'language' AS language, phone_number_ids, start_at, expires_at, recipients, created_at, planned_at,
       started_at, finished_at, options ->> 'test of' AS test_of,
       (SELECT coalesce(sum(accepted), 0)::bigint FROM campaign_numbers
        WHERE campaign_numbers.campaign_id = campaigns.campaign_id) AS accepted
FROM campaigns
WHERE ($1::bigint IS NULL OR campaign_id < $1)
  AND ($2::text[] IS NULL OR state = ANY ($2))
  AND ($4 OR options ->> 'test of' IS NULL)
ORDER BY campaign_id DESC LIMIT $3;

-- name: stuck
-- Campaigns of which one may need a person, the newest first; as `campaigns`, without those of `campaign test-send`.
SELECT campaign_id, name, state, reason, reason_code, template ->> 'name' AS template,
       template ->> 'language' AS language, phone_number_ids, start_at, expires_at, recipients, created_at, planned_at,
       started_at, finished_at, options ->> 'test of' AS test_of,
       (SELECT coalesce(sum(accepted), 0)::bigint FROM campaign_numbers
        WHERE campaign_numbers.campaign_id = campaigns.campaign_id) AS accepted
FROM campaigns
WHERE (state = 'running' OR state = 'paused' AND reason_code IS DISTINCT FROM 'paused_by_hand'
       OR state = 'finished' AND reason_code = 'in_doubt' OR state = 'draft' AND reason_code = 'start_approval_needed')
  AND options ->> 'test of' IS NULL
ORDER BY campaign_id DESC LIMIT $1;

-- name: accepted
-- Messages of a campaign that the service accepted, those included that failed later.
SELECT coalesce(sum(accepted), 0)::bigint FROM campaign_numbers WHERE campaign_id = $1;

-- name: ranges_with_state
-- The next ranges of a campaign after the ordinal $2, the one that is begun included, which hold recipients in the state $3.
SELECT ranges.range_id, ranges.ordinal
FROM ranges JOIN range_counters USING (range_id)
WHERE ranges.campaign_id = $1 AND ranges.ordinal >= $2
  AND CASE $3::text
          WHEN 'pending' THEN pending WHEN 'deferred' THEN deferred WHEN 'accepted' THEN accepted WHEN 'sent' THEN sent
          WHEN 'delivered' THEN delivered WHEN 'read' THEN read WHEN 'failed' THEN failed WHEN 'unknown' THEN unknown
          WHEN 'skipped' THEN skipped ELSE range_counters.recipients
      END > 0
ORDER BY ranges.ordinal LIMIT $4;

-- name: recipients
-- Recipients of one range after the seq $2. code: why a recipient failed, as the export has it.
SELECT seq, phone, state, code, reason, line, wamid, phone_number_id, attempted_at, sent_at, delivered_at, read_at, failed_at
FROM (
    SELECT recipient_states.seq, phone, recipient_states.state, recipient_states.reason, line, wamid,
           CASE WHEN recipient_states.state = 'failed' THEN (
               SELECT code FROM outcomes
               WHERE outcomes.range_id = recipient_states.range_id AND outcomes.seq = recipient_states.seq
                 AND outcomes.reason IS NOT NULL
               ORDER BY attempt_no DESC LIMIT 1) END AS code,
           CASE WHEN recipient_states.state IN ('unknown', 'deferred') THEN pending_attempts.phone_number_id
                ELSE recipient_states.phone_number_id END AS phone_number_id,
           attempted_at, sent_at, delivered_at, read_at, failed_at
    FROM recipient_states LEFT JOIN pending_attempts USING (range_id, seq)
    WHERE range_id = $1 AND recipient_states.seq > $2) AS found
WHERE ($3::text IS NULL OR state = $3) AND ($4::integer IS NULL OR code = $4)
ORDER BY seq LIMIT $5;

-- name: receipt
-- What the erasing of a person noted, by the pseudonym. The latest, if it was done again.
SELECT detail FROM audit WHERE action = 'person-forget' AND detail ->> 'pseudonym' = $1 ORDER BY audit_id DESC LIMIT 1;

-- name: audits
-- Newest first, below the id $1.
SELECT audit_id, at, actor, action, audit.campaign_id, campaigns.name AS campaign, detail
FROM audit LEFT JOIN campaigns USING (campaign_id)
WHERE $1::bigint IS NULL OR audit_id < $1
ORDER BY audit_id DESC LIMIT $2;
