-- Pages of campaigns, recipients and audits, each continued by the key of its last row.

-- name: campaigns
-- Newest first, below the id $1. accepted: messages that the service accepted, as the results writers counted them. $4: with
-- those of `campaign test-send`.
SELECT campaign_id, name, state, reason, reason_code, template ->> 'name' AS template,
       template ->> 'language' AS language, phone_number_ids, start_at, expires_at, recipients, created_at, planned_at,
       started_at, finished_at, options ->> 'test_of' AS test_of, options ->> 'retry_of' AS retry_of,
       (SELECT coalesce(sum(accepted), 0)::bigint FROM campaign_numbers
        WHERE campaign_numbers.campaign_id = campaigns.campaign_id) AS accepted
FROM campaigns
WHERE ($1::bigint IS NULL OR campaign_id < $1)
  AND ($2::text[] IS NULL OR state = ANY ($2))
  AND ($4 OR options ->> 'test_of' IS NULL)
  AND ($5::text IS NULL OR strpos(lower(name), lower($5)) > 0)
ORDER BY campaign_id DESC LIMIT $3;

-- name: week
-- Campaigns that started in the last seven days, the newest first, without those of `campaign test-send`.
SELECT campaign_id, recipients,
       (SELECT coalesce(sum(accepted), 0)::bigint FROM campaign_numbers
        WHERE campaign_numbers.campaign_id = campaigns.campaign_id) AS accepted
FROM campaigns
WHERE started_at >= now() - interval '7 days' AND options ->> 'test_of' IS NULL
ORDER BY campaign_id DESC LIMIT $1;

-- name: first_steps
-- What a new installation has so far.
SELECT EXISTS (SELECT FROM numbers) AS numbers, EXISTS (SELECT FROM templates) AS templates,
       EXISTS (SELECT FROM campaigns) AS campaigns;

-- name: stuck
-- Campaigns of which one may need a person, the newest first, those that run last: they are many, and few need one; as `campaigns`, without those of `campaign test-send`.
SELECT campaign_id, name, state, reason, reason_code, template ->> 'name' AS template,
       template ->> 'language' AS language, phone_number_ids, start_at, expires_at, recipients, created_at, planned_at,
       started_at, finished_at, options ->> 'test_of' AS test_of, options ->> 'retry_of' AS retry_of,
       (SELECT coalesce(sum(accepted), 0)::bigint FROM campaign_numbers
        WHERE campaign_numbers.campaign_id = campaigns.campaign_id) AS accepted
FROM campaigns
WHERE (state = 'running' OR state = 'paused' AND reason_code IS DISTINCT FROM 'paused_by_hand'
       OR state = 'finished' AND reason_code = 'in_doubt' OR state = 'draft' AND reason_code = 'start_approval_needed')
  AND options ->> 'test_of' IS NULL
ORDER BY state = 'running', campaign_id DESC LIMIT $1;

-- name: accepted
-- Messages of a campaign that the service accepted, those included that failed later.
SELECT coalesce(sum(accepted), 0)::bigint FROM campaign_numbers WHERE campaign_id = $1;

-- name: counts
-- Recipients of the campaigns $1 whose message came so far or failed: the sums of range counters and of what the audit keeps of
-- pruned months, as `status` of progress.sql has them. 1 µs for each range.
SELECT campaign_id, sum(accepted)::bigint AS accepted, sum(sent)::bigint AS sent, sum(delivered)::bigint AS delivered,
       sum(read)::bigint AS read, sum(failed)::bigint AS failed
FROM (SELECT campaign_id, accepted, sent, delivered, read, failed FROM range_counters WHERE campaign_id = ANY ($1::bigint[])
      UNION ALL
      SELECT campaign_id, kept.* FROM audit,
          jsonb_to_record(detail) AS kept (accepted bigint, sent bigint, delivered bigint, read bigint, failed bigint)
      WHERE action = 'prune' AND campaign_id = ANY ($1::bigint[])) AS parts
GROUP BY campaign_id;

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
-- Recipients of one range after the seq $2, in the state $3 if it is given.
SELECT seq, phone, recipient_states.state, code, recipient_states.reason, line, wamid,
       CASE WHEN recipient_states.state IN ('unknown', 'deferred') THEN pending_attempts.phone_number_id
            ELSE recipient_states.phone_number_id END AS phone_number_id,
       attempted_at, sent_at, delivered_at, read_at, failed_at
FROM recipient_states LEFT JOIN pending_attempts USING (range_id, seq)
WHERE range_id = $1 AND recipient_states.seq > $2 AND ($3::text IS NULL OR recipient_states.state = $3)
ORDER BY seq LIMIT $4;

-- name: recorded
-- Recipients of the ranges $1 with the ordinals $2 who may be in the state $5, after the seq $4 of the ordinal $3: those of whom
-- something is recorded that leads to it. So a state that is rare is found by its indexes, and nobody else is looked at.
-- $6: of failed recipients, the code of an attempt.
SELECT recorded.ordinal, recorded.seq, phone, known.state, known.code, known.reason, line, wamid,
       CASE WHEN known.state IN ('unknown', 'deferred') THEN pending_attempts.phone_number_id
            ELSE known.phone_number_id END AS phone_number_id,
       attempted_at, sent_at, delivered_at, read_at, failed_at
FROM (SELECT part.range_id, part.ordinal, record.seq
      FROM unnest($1::bigint[], $2::integer[]) AS part (range_id, ordinal),
           LATERAL (SELECT seq FROM pending_attempts
                    WHERE pending_attempts.range_id = part.range_id AND $5::text <> 'failed' AND pending_attempts.state = $5
                    UNION
                    SELECT seq FROM outcomes
                    WHERE outcomes.range_id = part.range_id AND outcomes.reason IS NOT NULL AND $5 = 'failed'
                      AND ($6::integer IS NULL OR code = $6)) AS record
      WHERE (part.ordinal, record.seq) > ($3, $4)
      ORDER BY part.ordinal, record.seq LIMIT $7) AS recorded
CROSS JOIN LATERAL (
    SELECT * FROM recipient_states
    WHERE recipient_states.range_id = recorded.range_id AND recipient_states.seq = recorded.seq OFFSET 0) AS known
LEFT JOIN pending_attempts
    ON pending_attempts.range_id = recorded.range_id AND pending_attempts.seq = recorded.seq
ORDER BY recorded.ordinal, recorded.seq;

-- name: receipt
-- What the erasing of a person noted, by the pseudonym. The latest, if it was done again.
SELECT detail FROM audit WHERE action = 'person-forget' AND detail ->> 'pseudonym' = $1 ORDER BY audit_id DESC LIMIT 1;

-- name: audits
-- Newest first, below the id $1.
SELECT audit_id, at, actor, action, audit.campaign_id, campaigns.name AS campaign, detail
FROM audit LEFT JOIN campaigns USING (campaign_id)
WHERE $1::bigint IS NULL OR audit_id < $1
ORDER BY audit_id DESC LIMIT $2;
