-- The report of a campaign, and the export of its recipients.

-- name: campaign
SELECT template ->> 'name' AS template, template ->> 'language' AS language, options, audience_rows, rejected, duplicates
FROM campaigns WHERE campaign_id = $1;

-- name: templates
SELECT template FROM campaigns WHERE campaign_id = $1;

-- name: reasons
-- Why recipients failed, were skipped, are in doubt or wait. Only present states count, so that the sums equal the counters.
-- A reason stands in an outcome, in a pending attempt, in the plan or in a closed range. The view is asked only about the
-- first two, because it looks up the attempts of every recipient that it shows.
WITH of_campaign AS (SELECT range_id, claimed_through, state, closed_reason FROM ranges WHERE campaign_id = $1),
with_record AS (
    SELECT range_id, seq, (array_agg(code ORDER BY attempt_no DESC))[1] AS code
    FROM (
        SELECT range_id, seq, attempt_no, code FROM outcomes JOIN of_campaign USING (range_id)
        WHERE outcomes.reason IS NOT NULL
        UNION ALL
        SELECT range_id, seq, 0, NULL FROM pending_attempts JOIN of_campaign USING (range_id)) AS attempts
    GROUP BY range_id, seq),
reasons AS (
    SELECT recipient_states.state, count(*) AS recipients,
           CASE WHEN recipient_states.state = 'failed' THEN coalesce(with_record.code::text, recipient_states.reason)
                ELSE recipient_states.reason END AS reason
    FROM with_record JOIN recipient_states USING (range_id, seq)
    WHERE recipient_states.state IN ('failed', 'skipped', 'unknown', 'deferred')
    GROUP BY 1, 3
    UNION ALL
    SELECT 'skipped', count(*), recipients.skip_reason
    FROM recipients JOIN of_campaign USING (range_id)
    WHERE recipients.skip_reason IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM with_record
        WHERE with_record.range_id = recipients.range_id AND with_record.seq = recipients.seq)
    GROUP BY 3
    UNION ALL
    SELECT 'skipped', count(*), of_campaign.closed_reason
    FROM recipients JOIN of_campaign USING (range_id)
    WHERE of_campaign.state = 'closed' AND recipients.seq > of_campaign.claimed_through AND recipients.skip_reason IS NULL
      AND NOT EXISTS (SELECT 1 FROM outcomes
                      WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
      AND NOT EXISTS (SELECT 1 FROM pending_attempts
                      WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq)
    GROUP BY 3),
ranked AS (
    SELECT state, coalesce(nullif(reason, ''), '(no reason given)') AS reason, sum(recipients)::bigint AS recipients,
           row_number() OVER (PARTITION BY state
                              ORDER BY sum(recipients) DESC, coalesce(nullif(reason, ''), '(no reason given)')) AS rank
    FROM reasons
    GROUP BY 1, 2)
SELECT state, least(rank, $2 + 1) AS rank, sum(recipients)::bigint AS recipients, count(*) AS reasons,
       min(reason) AS reason
FROM ranked
GROUP BY 1, 2
ORDER BY 1, 2;

-- name: numbers
-- What each number did for the campaign. achieved_per_s: from the first to the last request, without the pauses. NULL below
-- 2 s: no second exceeds the limit, but a part of a second may, after a stall.
SELECT phone_number_id, limit_per_s, attempts, accepted, throttled, active_s, cpu_s,
       CASE WHEN active_s >= 2 THEN (attempts - 1) / active_s END AS achieved_per_s,
       first_attempt_at, last_attempt_at, reply_counts
FROM campaign_numbers WHERE campaign_id = $1
ORDER BY phone_number_id;

-- name: audits
-- What people did with the campaign, and with its numbers since it exists.
SELECT at, actor, action, detail FROM audit
WHERE campaign_id = $1
   OR action = 'number-resume' AND EXISTS (
       SELECT FROM campaigns
       WHERE campaign_id = $1 AND audit.at >= created_at AND detail ->> 'number' = ANY (phone_number_ids))
ORDER BY audit_id;

-- name: is_kept
-- A planned campaign with recipients has ranges until they are pruned.
SELECT EXISTS (SELECT FROM ranges WHERE campaign_id = $1)
    OR EXISTS (SELECT FROM campaigns WHERE campaign_id = $1 AND recipients = 0);

-- name: export_ranges
SELECT range_id, ordinal FROM ranges WHERE campaign_id = $1 AND ordinal > $2 ORDER BY ordinal LIMIT 100;

-- name: export_ranges_in_states
-- The same without those that hold nobody in one of the states $3; NULL: any. Whoever changes meanwhile may be missed, or be
-- exported with the new state.
SELECT range_id, ordinal FROM ranges JOIN range_counters AS counters USING (range_id)
WHERE ranges.campaign_id = $1 AND ordinal > $2
  AND ($3::text[] IS NULL
       OR 'pending' = ANY ($3) AND counters.pending > 0 OR 'deferred' = ANY ($3) AND counters.deferred > 0
       OR 'accepted' = ANY ($3) AND counters.accepted > 0 OR 'sent' = ANY ($3) AND counters.sent > 0
       OR 'delivered' = ANY ($3) AND counters.delivered > 0 OR 'read' = ANY ($3) AND counters.read > 0
       OR 'failed' = ANY ($3) AND counters.failed > 0 OR 'unknown' = ANY ($3) AND counters.unknown > 0
       OR 'skipped' = ANY ($3) AND counters.skipped > 0)
ORDER BY ordinal LIMIT 100;

-- name: export_page
-- A page is a range: up to 1,000 recipients in a few milliseconds, without a cursor that stays open.
-- The number of an attempt in doubt or deferred stands in pending_attempts; the view has the numbers of outcomes. $2: the
-- states that are wanted, or NULL. A pending recipient may wait for the hours of its range's time zones.
SELECT range_id, seq, phone, recipient_states.state, code,
       coalesce(recipient_states.reason, CASE WHEN recipient_states.state = 'pending' THEN (
           SELECT waits_for FROM ranges
           WHERE ranges.range_id = recipient_states.range_id AND ranges.phone_number_id IS NULL AND ranges.due_at > now())
           END) AS reason, line, wamid,
       CASE WHEN recipient_states.state IN ('unknown', 'deferred') THEN pending_attempts.phone_number_id
            ELSE recipient_states.phone_number_id END AS phone_number_id,
       attempted_at, sent_at, delivered_at, read_at, failed_at, template_index, variables
FROM recipient_states LEFT JOIN pending_attempts USING (range_id, seq)
WHERE range_id = $1 AND ($2::text[] IS NULL OR recipient_states.state = ANY ($2))
ORDER BY seq;

-- name: variables
SELECT cardinality(variables) FROM recipients
WHERE range_id = (SELECT range_id FROM ranges WHERE campaign_id = $1 LIMIT 1) LIMIT 1;
