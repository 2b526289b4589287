-- What the report, the export and the list of replies ask for.

-- What the service charges for, as its statuses say: 2 * category + 1 if the message is billable, by the table of
-- engine/core/pricing.py; NULL: no status said so. A smallint costs no space in `outcomes`, because rows are aligned to 8 bytes.
ALTER TABLE outcomes ADD COLUMN pricing smallint;
ALTER TABLE inbox ADD COLUMN pricing smallint;
ALTER TABLE inbox_groups
    ADD COLUMN pricings smallint[],
    ADD CONSTRAINT pricings_are_of_all_events CHECK (coalesce(cardinality(pricings), events) = events),
    ALTER pricings SET STORAGE EXTERNAL;

-- Which messages answer this one? (report, replies) As for `outcomes`, the hash of the wamid is indexed.
CREATE INDEX incoming_messages_quoted ON incoming_messages (hashtextextended(body #>> '{context,id}', 0))
    WHERE body #>> '{context,id}' IS NOT NULL;

-- With three more columns than before: `code`, of a failed recipient, `pricing` and `template_index`.
CREATE OR REPLACE VIEW recipient_states AS
SELECT recipients.range_id, ranges.campaign_id, ranges.ordinal, recipients.seq, recipients.phone, recipients.variables,
       recipients.line, pending_attempts.attempt_no AS pending_attempt_no, pending_attempts.due_at, pending_attempts.since,
       present_state(recipients.skip_reason, attempts.best_rank, pending_attempts.state, attempts.last_kind,
                     recipients.seq > ranges.claimed_through, ranges.state) AS state,
       CASE
           WHEN recipients.skip_reason IS NOT NULL THEN recipients.skip_reason
           WHEN attempts.best_rank > 1 AND attempts.best_rank <> 3 THEN NULL
           WHEN attempts.best_rank = 1 THEN attempts.last_reason  -- "assumed sent" if a person said so, else NULL
           WHEN pending_attempts.state IN ('deferred', 'unknown') THEN pending_attempts.reason
           WHEN attempts.last_reason IS NOT NULL THEN attempts.last_reason
           WHEN recipients.seq > ranges.claimed_through AND ranges.state = 'closed' THEN ranges.closed_reason
       END AS reason,
       attempts.wamid, attempts.phone_number_id, attempts.attempted_at, attempts.sent_at, attempts.delivered_at,
       attempts.read_at, attempts.failed_at,
       CASE WHEN present_state(recipients.skip_reason, attempts.best_rank, pending_attempts.state, attempts.last_kind,
                               recipients.seq > ranges.claimed_through, ranges.state) = 'failed'
            THEN attempts.last_code END AS code,
       attempts.pricing, recipients.template_index
FROM recipients
JOIN ranges USING (range_id)
LEFT JOIN pending_attempts USING (range_id, seq)
LEFT JOIN LATERAL (
    SELECT max(CASE
                   WHEN outcomes.kind <> 1 THEN 0
                   WHEN outcomes.status = 3
                        AND outcomes.attempt_no < greatest(latest.attempt_no, pending_attempts.attempt_no) THEN 0
                   ELSE outcomes.status
               END)::smallint AS best_rank,
           (array_agg(outcomes.kind ORDER BY outcomes.attempt_no DESC))[1] AS last_kind,
           (array_agg(outcomes.reason ORDER BY outcomes.attempt_no DESC))[1] AS last_reason,
           (array_agg(outcomes.wamid ORDER BY outcomes.status DESC NULLS LAST))[1] AS wamid,
           (array_agg(outcomes.phone_number_id ORDER BY outcomes.attempt_no DESC))[1] AS phone_number_id,
           min(outcomes.attempted_at) AS attempted_at, min(outcomes.sent_at) AS sent_at,
           min(outcomes.delivered_at) AS delivered_at, min(outcomes.read_at) AS read_at,
           max(outcomes.failed_at) AS failed_at,
           (array_agg(outcomes.code ORDER BY outcomes.attempt_no DESC) FILTER (WHERE outcomes.reason IS NOT NULL))[1]
               AS last_code,
           max(outcomes.pricing) AS pricing
    FROM outcomes,
         LATERAL (SELECT max(others.attempt_no) AS attempt_no FROM outcomes AS others
                  WHERE others.range_id = recipients.range_id AND others.seq = recipients.seq) AS latest
    WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq
) AS attempts ON true;

-- With one more column than before: `pricing`.
CREATE OR REPLACE VIEW waiting_events AS
SELECT received_at, due_at, wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq, attempt_no,
       epoch, code, detail, matches_tried, pricing
FROM inbox
UNION ALL
SELECT received_at, received_at, wamid, status, timestamptz 'epoch' + us * interval '1 microsecond', phone_number_id,
       recipient, installation, range_id, seq, attempt_no, epoch, code, detail, 0, pricing
FROM inbox_groups,
     unnest(wamids, statuses, status_us, phone_number_ids, recipients, range_ids, seqs, attempt_nos, epochs, codes, details,
            pricings)
         AS event (wamid, status, us, phone_number_id, recipient, range_id, seq, attempt_no, epoch, code, detail, pricing);

-- What a recipient answered to one message: what quotes it, and what came within a week after it and quotes nothing. The
-- service's times have whole seconds.
CREATE FUNCTION replies_to(phone bigint, wamid text, attempted_at timestamptz) RETURNS SETOF incoming_messages
LANGUAGE sql STABLE AS $$
    SELECT incoming_messages.* FROM incoming_messages
    WHERE hashtextextended(body #>> '{context,id}', 0) = hashtextextended($2, 0) AND body #>> '{context,id}' = $2
      AND body #>> '{context,id}' IS NOT NULL
    UNION ALL
    SELECT incoming_messages.* FROM incoming_messages
    WHERE sender = ANY (phone_spellings($1)) AND body #>> '{context,id}' IS NULL
      AND sent_at >= date_trunc('second', $3) AND sent_at < $3 + interval '7 days'
$$;
