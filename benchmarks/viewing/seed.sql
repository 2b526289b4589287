-- A large campaign of which a part is sent, and an account that has been used for years.

-- name: ranges_of
SELECT range_id FROM ranges WHERE campaign_id = $1 AND ordinal <= $2 ORDER BY ordinal;

-- name: insert_outcomes
-- The outcomes of the recipients of the ranges $1. Of a thousand recipients 3 are in doubt and have no outcome; 5
-- are skipped, 55 failed, 37 are accepted, 60 sent, 340 delivered and 500 read. $2: the numbers. $3: when the first
-- of them was written.
INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason, attempted_at,
                      sent_at, delivered_at, read_at, failed_at)
SELECT range_id, seq, CASE WHEN part < 8 THEN 0 ELSE 1 END, 1,
       CASE WHEN part < 8 THEN 3 WHEN part < 33 THEN 2 ELSE 1 END,
       CASE WHEN part < 33 THEN NULL WHEN part < 63 THEN 3 WHEN part < 100 THEN 1 WHEN part < 160 THEN 2
            WHEN part < 500 THEN 4 ELSE 5 END,
       number, CASE WHEN part >= 33 THEN 'wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjBG' || range_id || seq END,
       CASE WHEN part BETWEEN 8 AND 62 THEN code END,
       CASE WHEN part < 8 THEN 'suppressed' WHEN part < 63 THEN code::text END,
       attempted_at,
       CASE WHEN part >= 100 THEN attempted_at + interval '1 second' END,
       CASE WHEN part >= 160 THEN attempted_at + (1 + seq % 40) * interval '1 second' END,
       CASE WHEN part >= 500 THEN attempted_at + (60 + 9 * (seq % 400)) * interval '1 second' END,
       CASE WHEN part BETWEEN 33 AND 62 THEN attempted_at + interval '3 seconds' END
FROM (SELECT range_id, seq, (seq * 7919 + ordinal * 31) % 1000 AS part,
             ($2::text[])[1 + ordinal % cardinality($2::text[])] AS number,
             (ARRAY[131026, 131026, 131026, 131049, 131049, 130472, 131047])[1 + seq % 7] AS code,
             $3::timestamptz + ordinal * interval '200 milliseconds' + seq * interval '5 milliseconds' AS attempted_at
      FROM ranges, generate_series(1, last_seq) AS seq
      WHERE range_id = ANY ($1::bigint[])) AS recipient
WHERE part >= 3;

-- name: insert_doubts
INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)
SELECT range_id, seq, 1, 'unknown', 1, ($2::text[])[1 + ordinal % cardinality($2::text[])], 'the reply was lost'
FROM ranges, generate_series(1, last_seq) AS seq
WHERE range_id = ANY ($1::bigint[]) AND (seq * 7919 + ordinal * 31) % 1000 < 3;

-- name: finish_ranges
-- Finish these ranges as their owners do.
UPDATE ranges SET claimed_through = last_seq, state = 'done', epoch = 1 WHERE range_id = ANY ($1::bigint[]);

-- name: insert_claims
INSERT INTO claims (range_id, from_seq, epoch, phone_number_id, claimed_at)
SELECT range_id, 1, 1, ($2::text[])[1 + ordinal % cardinality($2::text[])], now()
FROM ranges WHERE range_id = ANY ($1::bigint[]);

-- name: count_outcomes
UPDATE range_counters
SET accepted = found.accepted, sent = found.sent, delivered = found.delivered, read = found.read, failed = found.failed,
    skipped = found.skipped, unknown = range_counters.recipients - found.outcomes
FROM (SELECT range_id, count(*) AS outcomes, count(*) FILTER (WHERE kind = 1 AND status = 1) AS accepted,
             count(*) FILTER (WHERE status = 2) AS sent, count(*) FILTER (WHERE status = 4) AS delivered,
             count(*) FILTER (WHERE status = 5) AS read, count(*) FILTER (WHERE kind = 2 OR status = 3) AS failed,
             count(*) FILTER (WHERE kind = 3) AS skipped
      FROM outcomes WHERE range_id = ANY ($1::bigint[]) GROUP BY range_id) AS found
WHERE range_counters.range_id = found.range_id;

-- name: count_attempts
INSERT INTO campaign_numbers (campaign_id, phone_number_id, limit_per_s, attempts, accepted, active_s, first_attempt_at,
                              last_attempt_at)
SELECT $1, number, 80, $3, $3, 7200, now() - interval '2 hours', now()
FROM unnest($2::text[]) AS number;

-- name: begin_campaign
UPDATE campaigns SET started_at = $2, created_at = $2 WHERE campaign_id = $1;

-- name: number_epochs
UPDATE numbers SET epoch = 1, verified_name = 'Lantern', quality_rating = 'GREEN', messaging_limit_tier = 'TIER_UNLIMITED',
                   synced_at = now();

-- name: insert_event_flow
-- Events arrive, so no view says that they are missing.
INSERT INTO event_flow (phone_number_id, last_event_at) SELECT number, now() FROM unnest($1::text[]) AS number;

-- name: set_limits
UPDATE numbers SET manual_limit_per_s = $1;

-- name: insert_other_campaigns
-- Finished ones, as an account has them after some years.
WITH others AS (
    INSERT INTO campaigns (name, content_hash, options, state, template, phone_number_ids, audience_rows, recipients, planned_at,
                           started_at, finished_at)
    SELECT 'earlier-' || n, '', '{}', 'finished', $2, $3, 100000, 100000, now(), now(), now()
    FROM generate_series(1, $1::integer) AS n
    RETURNING campaign_id)
INSERT INTO campaign_numbers (campaign_id, phone_number_id, limit_per_s, attempts, accepted)
SELECT campaign_id, number, 80, 6250, 6100 FROM others, unnest($3::text[]) AS number;

-- name: insert_templates
INSERT INTO templates (name, language, status, category, definition)
SELECT CASE WHEN n = 1 THEN 'order_shipped' ELSE 'template_' || n END, 'en_US', 'APPROVED', 'UTILITY', $2
FROM generate_series(1, $1::integer) AS n;

-- name: insert_suppressions
INSERT INTO suppressions (phone, reason, source)
SELECT 4915100000000 + n, 'asked for it', 'import' FROM generate_series(1, $1::integer) AS n;

-- name: insert_audits
INSERT INTO audit (actor, action, campaign_id, detail)
SELECT 'user ' || n % 7, CASE WHEN n % 2 = 0 THEN 'pause' ELSE 'resume' END, CASE WHEN n % 500 = 0 THEN $2::bigint END, '{}'
FROM generate_series(1, $1::integer) AS n;

-- name: insert_replies
-- Messages of people that quote the one that they got.
INSERT INTO incoming_messages (wamid, phone_number_id, sender, type, sent_at, body)
SELECT 'wamid.reply' || range_id || seq, outcomes.phone_number_id, phone::text, 'text', attempted_at + interval '10 minutes',
       jsonb_build_object('text', jsonb_build_object('body', 'Thank you'), 'context', jsonb_build_object('id', outcomes.wamid))
FROM recipients JOIN outcomes USING (range_id, seq)
WHERE range_id = ANY ($1::bigint[]) AND seq % 100 = 0 AND outcomes.wamid IS NOT NULL;

-- name: clean
VACUUM (ANALYZE);

-- name: commits
SELECT sum(xact_commit)::bigint FROM pg_stat_database;

-- name: attempts
SELECT sum(attempts)::bigint FROM campaign_numbers;

-- name: ranges
SELECT count(*)::integer FROM ranges WHERE campaign_id = $1;

-- name: reached
-- A recipient in the middle of the part that is sent.
SELECT phone, line AS row, ordinal FROM recipients JOIN ranges USING (range_id)
WHERE campaign_id = $1 AND ordinal = (SELECT max(ordinal) / 2 FROM ranges WHERE campaign_id = $1 AND state = 'done') AND seq = 1;

-- name: clear_snapshot
SELECT pg_stat_clear_snapshot();
