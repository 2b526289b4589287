-- name: templates_of_name
SELECT language, status, definition FROM templates WHERE name = $1 ORDER BY language;

-- name: categories_of
SELECT name || ' (' || language || ')' AS template, category FROM templates WHERE name = ANY ($1::text[]) AND category IS NOT NULL;

-- name: accept_categories
UPDATE campaigns
SET options = jsonb_set(options, '{noted}', coalesce(options -> 'noted', '{}') || jsonb_build_object('categories', $2::jsonb))
WHERE campaign_id = $1;

-- name: template_names
SELECT DISTINCT name FROM templates ORDER BY name;

-- name: limits_of_numbers
SELECT phone_number_id, coalesce(manual_limit_per_s, service_limit_per_s, $2) AS limit_per_s
FROM numbers WHERE phone_number_id = ANY($1::text[]);

-- name: all_numbers
SELECT phone_number_id FROM numbers ORDER BY phone_number_id;

-- name: try_lock
-- One create of a name, or of an external id, at a time. The session holds the lock: it ends with a killed create.
SELECT pg_try_advisory_lock(hashtextextended('drumbeat.create:' || $1, 0));

-- name: try_transaction_lock
-- The same lock for a create that is one transaction.
SELECT pg_try_advisory_xact_lock(hashtextextended('drumbeat.create:' || $1, 0));

-- name: is_suppressed
SELECT EXISTS (SELECT FROM suppressions WHERE phone = ANY (phone_spellings($1::bigint)::bigint[]));

-- name: prepare_today
-- Makes the partitions of today, and returns its first range id. A transaction of its own, because the partitions' lock
-- would hold every other plan until the commit.
SELECT first_range_id(day) FROM (SELECT (now() AT TIME ZONE 'UTC')::date AS day OFFSET 0) AS today,
       LATERAL (SELECT create_partitions(day) OFFSET 0) AS made;

-- name: same_identity
-- The campaign that already has this name or external id.
SELECT campaign_id, name, external_id, content_hash, options, template, planned_at, state, phone_number_ids, start_at,
       audience_rows, rejected, duplicates, recipients
FROM campaigns
WHERE name = $1 OR external_id = $2
ORDER BY external_id IS NOT DISTINCT FROM $2 DESC;

-- name: frozen_campaign
SELECT options, template FROM campaigns WHERE campaign_id = $1;

-- name: planned_retry
SELECT campaign_id, name, state, options, template, phone_number_ids, start_at, audience_rows, rejected, duplicates,
       recipients
FROM campaigns WHERE name = $1 AND planned_at IS NOT NULL;

-- name: same_audience
-- Other campaigns whose stored option $1, the hash of the audience, is $2. A person reads the list.
SELECT name FROM campaigns
WHERE options ->> $1::text = $2::text AND campaign_id <> $3 AND planned_at IS NOT NULL
  AND NOT (state = 'cancelled' AND started_at IS NULL)
ORDER BY campaign_id
LIMIT 10;

-- name: newest_like
-- The recipients of the newest campaign with a name like $1, but not $2; retries and tests are no measure of an audience.
SELECT recipients FROM campaigns
WHERE name LIKE $1 AND name <> $2 AND planned_at IS NOT NULL AND recipients > 0 AND state <> 'draft'
  AND options ->> 'test_of' IS NULL AND options ->> 'retry_of' IS NULL
ORDER BY campaign_id DESC
LIMIT 1;

-- name: hold_unplanned
-- Locked while a chunk is written, so that nobody removes the campaign meanwhile.
SELECT campaign_id FROM campaigns WHERE campaign_id = $1 AND planned_at IS NULL FOR KEY SHARE;

-- name: seize_unplanned
-- Fails while a chunk is being written: a session may outlive its killed process a little.
SELECT campaign_id FROM campaigns WHERE campaign_id = $1 FOR UPDATE NOWAIT;

-- name: leftover_ranges
SELECT range_id FROM ranges WHERE campaign_id = $1 LIMIT 100;

-- name: remove_recipients
DELETE FROM recipients WHERE range_id = ANY($1::bigint[]);

-- name: remove_retried
DELETE FROM retried_recipients WHERE range_id = ANY($1::bigint[]);

-- name: remove_range_counters
DELETE FROM range_counters WHERE range_id = ANY($1::bigint[]);

-- name: remove_ranges
DELETE FROM ranges WHERE range_id = ANY($1::bigint[]);

-- name: remove_unplanned
DELETE FROM campaigns WHERE campaign_id = $1 AND planned_at IS NULL;

-- name: retire
-- A campaign that never sent, in one of these states: nobody can start it any more, and the next create of its name would
-- remove it.
UPDATE campaigns SET planned_at = NULL, reason = 'being removed', reason_code = 'planning'
WHERE campaign_id = $1 AND state = ANY($2::text[]) AND started_at IS NULL AND planned_at IS NOT NULL
RETURNING campaign_id;

-- name: change_campaign
-- Options that change without a new plan. Nothing if the campaign is not as it was when it was compared. Whoever asked to
-- start it asked for the former options.
UPDATE campaigns
SET content_hash = $4, options = $5, phone_number_ids = $6, on_unknown = $7, window_opens = $8, window_closes = $9,
    time_zone = $10, start_at = $11, expires_at = $12, max_failed = $13, priority = $14, share_percent = $15,
    pause_at_failed = $16,
    reason = CASE WHEN reason_code = 'start_approval_needed' THEN '' ELSE reason END,
    reason_code = nullif(reason_code, 'start_approval_needed')
WHERE campaign_id = $1 AND content_hash = $2 AND state = $3 AND planned_at IS NOT NULL
RETURNING campaign_id;

-- name: prepare_session
-- For this session. Nearly all phones of an audience differ: counting them by sorting takes half the time of hashing
-- (3 million: 1.1 s, 2.1 s), and the memory stays within work_mem.
SELECT set_config('temp_buffers', '64MB', false), set_config('work_mem', '64MB', false),
       set_config('enable_hashagg', 'off', false);

-- name: create_staging
-- staging: lines and canonical phones, to find duplicates and suppressed recipients.
-- staged_recipients: the rows of a batch in one value, as COPY takes them: Postgres does not look into a row before it is
-- written as a recipient. EXTERNAL, because compressing it would cost more than everything else. A value holds up to a
-- gigabyte, or 13 kB for each of the shortest rows.
-- excluded: canonical phones of the option exclude. left_out: the lines that become no recipients, and why.
-- canonical_phone is that of engine/core/phone_aliases.py. Only phones of these spans may be old forms, so nearly no phone is
-- compared with patterns; Argentina and Brazil have millions, and are reckoned.
CREATE TEMPORARY TABLE staging (line bigint NOT NULL, phone bigint NOT NULL);
CREATE TEMPORARY TABLE excluded (phone bigint NOT NULL);
CREATE TEMPORARY TABLE left_out (line bigint NOT NULL, phone bigint NOT NULL, code text NOT NULL);
CREATE FUNCTION pg_temp.canonical_phone(phone bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN phone >= 540000000000 AND phone < 550000000000 THEN phone + 4950000000000
        WHEN phone >= 550000000000 AND phone < 560000000000 AND phone / 10000000 % 10 >= 6
            THEN phone / 100000000 * 1000000000 + 900000000 + phone % 100000000
        WHEN (phone >= 2300000000 AND phone < 2310000000) OR (phone >= 5700000000 AND phone < 5800000000)
            OR (phone >= 22500000000 AND phone < 22600000000) OR (phone >= 22900000000 AND phone < 23000000000)
            OR (phone >= 23700000000 AND phone < 23800000000) OR (phone >= 24100000000 AND phone < 24110000000)
            OR (phone >= 841200000000 AND phone < 842000000000)
            OR (phone >= 5210000000000 AND phone < 5220000000000) THEN coalesce(other_spelling(phone)::bigint, phone)
        ELSE phone END
$$;
CREATE TEMPORARY TABLE staged_recipients (batch integer PRIMARY KEY, rows bytea NOT NULL);
ALTER TABLE staged_recipients ALTER COLUMN rows SET STORAGE EXTERNAL;

-- name: stage_template_indexes
-- Only if there are several templates: every row would be a fifth longer.
ALTER TABLE staging ADD COLUMN template_index smallint NOT NULL;

-- name: stage_recipients
INSERT INTO staged_recipients (batch, rows) VALUES ($1, $2);

-- name: recipients_of_batch
SELECT rows FROM staged_recipients WHERE batch = $1;

-- name: find_repeated
-- Phones that stand in more than one row. Sorting one column takes two thirds of the time and half of the memory of sorting
-- it with the line. ANALYZE, because there are few of them: otherwise the planner would sort all rows again to join them.
CREATE TEMPORARY TABLE repeated AS SELECT phone FROM staging GROUP BY phone HAVING count(*) > 1;
ANALYZE repeated;

-- name: exclude_campaign
INSERT INTO excluded
SELECT pg_temp.canonical_phone(phone) FROM recipients JOIN ranges USING (range_id) WHERE campaign_id = $1;

-- name: find_excluded
INSERT INTO left_out SELECT line, phone, 'excluded' FROM staging WHERE phone IN (SELECT phone FROM excluded);

-- name: find_duplicates
-- All lines of a repeated phone but the first. Of an excluded phone, every line is left out already.
INSERT INTO left_out
SELECT line, phone, 'duplicate'
FROM (SELECT line, phone, min(line) OVER (PARTITION BY phone) AS first_line FROM staging JOIN repeated USING (phone)) AS rows
WHERE line <> first_line AND NOT EXISTS (SELECT FROM excluded WHERE excluded.phone = rows.phone);

-- name: find_suppressed
-- The lines whose phone is suppressed. One join for the whole audience costs less than one for each chunk.
-- Staged phones are canonical, while the list holds the aliases that were sent to.
CREATE TEMPORARY TABLE suppressed AS
SELECT line FROM staging WHERE phone IN (SELECT pg_temp.canonical_phone(phone) FROM suppressions);

-- name: left_out_of
SELECT line FROM left_out WHERE line = ANY($1::bigint[]);

-- name: index_lists
CREATE INDEX left_out_lines ON left_out (line);
CREATE INDEX suppressed_lines ON suppressed (line);
ANALYZE left_out, suppressed;

-- name: left_out_in_chunk
SELECT line, phone, code FROM left_out WHERE line > $1 AND line <= $2 ORDER BY line;

-- name: recent_campaigns
-- Campaigns of the last $1 days, or still to be sent, of which staged people are recipients too, and how many. Not those
-- named in $2, no tests, and none that was cancelled before it sent. Ranges are read one by one, because no index holds
-- phones: that costs what the recent campaigns are worth, and not what all stored months are.
WITH recent AS MATERIALIZED (
    SELECT campaign_id, name, started_at IS NOT NULL AS started, coalesce(started_at, created_at) AS since
    FROM campaigns
    WHERE planned_at IS NOT NULL AND coalesce(finished_at, now()) > now() - make_interval(days => $1)
      AND name <> ALL($2::text[]) AND options ->> 'test_of' IS NULL
      AND NOT (state = 'cancelled' AND started_at IS NULL)
)
SELECT name, started, since, count(*) AS recipients
FROM recent
JOIN ranges USING (campaign_id)
JOIN LATERAL (
    SELECT pg_temp.canonical_phone(phone) AS phone FROM recipients
    WHERE recipients.range_id = ranges.range_id AND skip_reason IS NULL
    OFFSET 0) AS earlier ON true
WHERE earlier.phone IN (SELECT phone FROM staging)
  AND NOT EXISTS (SELECT FROM excluded WHERE excluded.phone = earlier.phone)
GROUP BY campaign_id, name, started, since
ORDER BY recipients DESC, campaign_id DESC
LIMIT 10;

-- name: suppressed_in_chunk
SELECT line FROM suppressed WHERE line > $1 AND line <= $2 ORDER BY line;

-- name: count_suppressed
-- The recipients that would be skipped.
SELECT count(*) FROM suppressed WHERE NOT EXISTS (SELECT FROM left_out WHERE left_out.line = suppressed.line);

-- name: count_by_template
SELECT template_index, count(*) AS recipients FROM staging
WHERE NOT EXISTS (SELECT FROM left_out WHERE left_out.line = staging.line)
GROUP BY template_index;

-- name: allow_hashing
-- There are few beginnings of phones; to sort ten million rows for them would take most of a minute.
SELECT set_config('enable_hashagg', 'on', false);

-- name: staged_by_head
-- A phone for each beginning of $1 digits, and how many recipients share it; without those that would be skipped.
SELECT 0 AS template_index, min(phone) AS phone, count(*) AS recipients
FROM staging
WHERE NOT EXISTS (SELECT FROM left_out WHERE left_out.line = staging.line)
  AND NOT EXISTS (SELECT FROM suppressed WHERE suppressed.line = staging.line)
GROUP BY left(phone::text, $1);

-- name: staged_by_template_and_head
SELECT template_index, min(phone) AS phone, count(*) AS recipients
FROM staging
WHERE NOT EXISTS (SELECT FROM left_out WHERE left_out.line = staging.line)
  AND NOT EXISTS (SELECT FROM suppressed WHERE suppressed.line = staging.line)
GROUP BY template_index, left(phone::text, $1);

-- name: insert_campaign
INSERT INTO campaigns (
    name, external_id, content_hash, options, reason, reason_code, template, phone_number_ids, on_unknown,
    window_opens, window_closes, time_zone, start_at, expires_at, max_failed, priority, share_percent, pause_at_failed
) VALUES ($1, $2, $3, $4, 'planning', 'planning', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
RETURNING campaign_id, (now() AT TIME ZONE 'UTC')::date AS day;

-- name: create_partitions
SELECT create_partitions($1);

-- name: first_range_id
SELECT first_range_id($1);

-- name: freeze_ranges
-- Ranges and range counters for recipients that were just written, counted from the table; ordinals start at $3. $4: the time
-- zones of each range, or empty. Returns how many recipients there are, how many are suppressed, and how many have no hours.
WITH written AS MATERIALIZED (
    SELECT range_id, count(*)::integer AS last_seq, count(skip_reason)::integer AS skipped,
           count(*) FILTER (WHERE skip_reason = 'suppressed')::integer AS suppressed
    FROM recipients WHERE range_id = ANY($2::bigint[]) GROUP BY range_id
), new_ranges AS (
    INSERT INTO ranges (range_id, campaign_id, ordinal, last_seq, time_zones)
    SELECT range_id, $1, $3::integer + array_position($2::bigint[], range_id) - 1, last_seq,
           ($4::text[])[array_position($2::bigint[], range_id)]
    FROM written
), new_range_counters AS (
    INSERT INTO range_counters (range_id, campaign_id, recipients, skipped)
    SELECT range_id, $1, last_seq, skipped FROM written
)
SELECT coalesce(sum(last_seq), 0)::bigint AS recipients, coalesce(sum(suppressed), 0)::bigint AS suppressed,
       coalesce(sum(skipped - suppressed), 0)::bigint AS without_hours
FROM written;

-- name: insert_canary
INSERT INTO canaries (campaign_id, recipients, ranges, max_failed, needs_approval, wait_s) VALUES ($1, $2, $3, $4, $5, $6);

-- name: link_retry
-- A retry campaign, $1, gets a link to the campaign that it retries, $2, and each of its recipients one to the same phone there.
-- Returns how many recipients are linked. A recipient whom another retry has by now gets the number of that one: a unique
-- violation. In the order of the index, so that two plans at once wait for each other and do not deadlock.
WITH source AS (SELECT campaign_id FROM campaigns WHERE name = $2),
linked AS (
    INSERT INTO retried_recipients (range_id, seq, source_range_id, source_seq, retry_no)
    SELECT recipients.range_id, recipients.seq, earlier.range_id, earlier.seq, coalesce(others.retry_no, 1)
    FROM recipients
    JOIN ranges ON ranges.range_id = recipients.range_id AND ranges.campaign_id = $1
    JOIN recipients AS earlier ON earlier.phone = recipients.phone
    JOIN ranges AS earlier_ranges ON earlier_ranges.range_id = earlier.range_id
                                 AND earlier_ranges.campaign_id = (SELECT campaign_id FROM source)
    CROSS JOIN LATERAL (
        SELECT max(retried.retry_no) + bool_and(known.state IS NOT DISTINCT FROM 'skipped')::integer AS retry_no
        FROM retried_recipients AS retried
        LEFT JOIN LATERAL (
            SELECT state FROM recipient_states
            WHERE recipient_states.range_id = retried.range_id AND recipient_states.seq = retried.seq OFFSET 0) AS known ON true
        WHERE retried.source_range_id = earlier.range_id AND retried.source_seq = earlier.seq) AS others
    ORDER BY earlier.range_id, earlier.seq
    RETURNING 1),
retried_campaign AS (
    UPDATE campaigns SET retry_of = source.campaign_id FROM source WHERE campaigns.campaign_id = $1)
SELECT count(*) FROM linked;

-- name: finish_plan
UPDATE campaigns
SET audience_rows = $2, rejected = $3, duplicates = $4, recipients = $5, reason = '', reason_code = NULL, planned_at = now()
WHERE campaign_id = $1;
