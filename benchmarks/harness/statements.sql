-- name: data_directory
SELECT current_setting('data_directory');

-- name: database_name
SELECT current_database();

-- name: drop_schema
DROP SCHEMA public CASCADE;
CREATE SCHEMA public;

-- name: create_partitions
SELECT create_partitions(current_date);

-- name: insert_number
INSERT INTO numbers (phone_number_id, service_limit_per_s) VALUES ($1, $2);

-- name: insert_template
INSERT INTO templates (name, language, status, definition) VALUES ($1, $2, 'APPROVED', $3);

-- name: create_bare_table
CREATE TEMPORARY TABLE bare (phone text, name text, reference text, city text);

-- name: create_customers
CREATE TABLE customers (phone text, name text, reference text, city text);

-- name: digest_of_recipients
-- The digest is the same for the same recipients, in whatever order.
SELECT sum(hashtextextended(phone::text || variables::text, 0)::numeric)::text FROM recipients;

-- name: insert_campaign
INSERT INTO campaigns (name, content_hash, options, state, template, phone_number_ids, audience_rows, recipients,
                       planned_at)
VALUES ($4, '', '{}', 'running', $1, $2, $3, $3, now())
RETURNING campaign_id;

-- name: back_to_draft
-- Make it look as if nobody had started the campaign yet.
UPDATE campaigns SET state = 'draft', started_at = NULL;

-- name: long_released
-- Make it look as if the last owner had released the number a minute ago, so that no start waits for a lease.
UPDATE numbers SET leased_until = now() - interval '1 minute' WHERE released;

-- name: forget_owners
-- Make it look as if the owners had run on another machine, so that this one cannot prove that they ended.
UPDATE numbers SET owner_process = NULL;

-- name: leased_until
SELECT extract(epoch FROM max(leased_until))::float8 FROM numbers;

-- name: first_range_id
SELECT first_range_id(current_date);

-- name: insert_ranges
INSERT INTO ranges (range_id, campaign_id, ordinal, last_seq)
SELECT id, $3, n, last_seq
FROM unnest($1::bigint[], $2::integer[]) WITH ORDINALITY AS r (id, last_seq, n);

-- name: insert_range_counters
INSERT INTO range_counters (range_id, campaign_id, recipients)
SELECT id, $3, last_seq
FROM unnest($1::bigint[], $2::integer[]) AS r (id, last_seq);

-- name: insert_recipients
INSERT INTO recipients (range_id, seq, phone, variables, line)
SELECT id, seq, $3::bigint + $5::bigint + (n - 1) * $4 + seq, ARRAY['Ana', 'A-' || seq], $5 + (n - 1) * $4 + seq
FROM unnest($1::bigint[], $2::integer[]) WITH ORDINALITY AS r (id, last_seq, n), generate_series(1, last_seq) AS seq;

-- name: claim_all
-- Make it look as if one owner had claimed every recipient.
UPDATE numbers SET epoch = 1;
UPDATE ranges SET claimed_through = last_seq, phone_number_id = (SELECT min(phone_number_id) FROM numbers), epoch = 1;
INSERT INTO claims (range_id, from_seq, epoch, phone_number_id, claimed_at)
SELECT range_id, 1, 1, phone_number_id, now() FROM ranges;

-- name: accept_all
-- Make it look as if the service had accepted every message.
INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid)
SELECT range_id, seq, 1, 1, 1, 1, phone_number_id, $1 || lpad(ordinal::text, 6, '0') || lpad(seq::text, 6, '0')
FROM recipients JOIN ranges USING (range_id)
ORDER BY range_id, seq;

-- name: count_accepted
UPDATE range_counters SET accepted = recipients;

-- name: vacuum_accepted
VACUUM ANALYZE outcomes, recipients, ranges, range_counters;

-- name: accepted_ranges
SELECT range_id, ordinal, last_seq FROM ranges ORDER BY ordinal;

-- name: installation
SELECT installation FROM installation;

-- name: session
SELECT pg_backend_pid();

-- name: reset_statistics
SELECT pg_stat_reset();

-- name: outcomes_written
-- The sums of all partitions since the last reset of the statistics.
SELECT sum(n_tup_upd)::float8 AS updates, sum(n_tup_hot_upd)::float8 AS hot,
       sum(pg_total_relation_size(relid))::float8 / 1e6 AS size_mb
FROM pg_stat_user_tables WHERE relname LIKE 'outcomes\_%';

-- name: read_in_range_counters
SELECT sum(read)::bigint FROM range_counters;

-- name: reset_statuses
UPDATE outcomes SET status = 1, sent_at = NULL, delivered_at = NULL, read_at = NULL;

-- name: flush_statistics
SELECT pg_stat_force_next_flush();

-- name: update_bare
UPDATE outcomes SET status = greatest(outcomes.status, given.status), sent_at = now()
FROM unnest($1::bigint[], $2::integer[], $3::smallint[]) AS given (range_id, seq, status)
WHERE outcomes.range_id = given.range_id AND outcomes.seq = given.seq AND outcomes.attempt_no = 1;

-- name: sums
-- All requests of a campaign. `outcomes` holds fewer times: an outcome whose status event came first has none.
SELECT coalesce(sum(attempts - throttled), 0)::bigint AS messages,
       coalesce(sum(throttled), 0)::bigint AS throttled,
       coalesce(extract(epoch FROM max(last_attempt_at) - min(first_attempt_at)), 0)::float8 AS elapsed_s
FROM campaign_numbers
WHERE campaign_id = $1;

-- name: written
-- The figures of each number: the outcomes that have a time; those after its first half second, and the time they
-- span; the time from that half second to the last outcome of all numbers; and the most outcomes in any half-open
-- second (times are whole microseconds).
WITH written AS (
    SELECT phone_number_id, attempted_at,
           min(attempted_at) OVER (PARTITION BY phone_number_id) AS began_at,
           count(*) OVER (PARTITION BY phone_number_id ORDER BY attempted_at
                          RANGE BETWEEN CURRENT ROW AND '999999 microseconds' FOLLOWING) AS in_second
    FROM outcomes
    WHERE attempted_at IS NOT NULL
)
SELECT phone_number_id,
       count(*) AS messages,
       count(*) FILTER (WHERE attempted_at >= began_at + interval '500 milliseconds') AS steady,
       coalesce(extract(epoch FROM max(attempted_at)
           - min(attempted_at) FILTER (WHERE attempted_at >= began_at + interval '500 milliseconds')), 0)::float8
           AS steady_s,
       extract(epoch FROM max(max(attempted_at)) OVER () - min(attempted_at) - interval '500 milliseconds')::float8
           AS whole_s,
       max(in_second) AS largest_second
FROM written
GROUP BY phone_number_id;

-- name: by_second
-- Messages that each number wrote in each whole second since the first write of all numbers.
SELECT phone_number_id, floor(extract(epoch FROM attempted_at - began_at))::integer AS second, count(*) AS messages
FROM outcomes, (SELECT min(attempted_at) AS began_at FROM outcomes WHERE attempted_at IS NOT NULL) AS all_of_them
WHERE attempted_at IS NOT NULL
GROUP BY 1, 2;

-- name: events_waiting
SELECT (SELECT count(*) FROM inbox) + (SELECT coalesce(sum(events), 0)::bigint FROM inbox_groups);

-- name: count_read
SELECT count(*) FROM outcomes WHERE read_at IS NOT NULL;

-- name: create_sent_table
CREATE TABLE IF NOT EXISTS sent (phone text, wamid text, at timestamptz DEFAULT now());

-- name: insert_sent
INSERT INTO sent (phone, wamid) VALUES ($1, $2);

-- name: horizon
-- The limits that keep VACUUM from removing dead rows: the oldest transaction and the oldest snapshot of client
-- sessions. A vacuum itself is long, but holds up no other. Also the requests and CPU seconds that the engine has
-- counted so far.
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8 AS transaction_s,
       coalesce(max(age(backend_xmin)), 0)::integer AS snapshot,
       (SELECT coalesce(sum(attempts), 0)::bigint FROM campaign_numbers) AS messages,
       (SELECT coalesce(sum(cpu_s), 0)::float8 FROM campaign_numbers) AS cpu_s
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND backend_type = 'client backend';

-- name: tables
-- Tables with any write; sizes include indexes.
SELECT relname AS name, n_live_tup AS live, n_dead_tup AS dead, n_tup_upd AS updates, n_tup_hot_upd AS hot,
       autovacuum_count AS vacuums, pg_total_relation_size(relid) AS bytes
FROM pg_stat_user_tables
WHERE n_tup_ins + n_tup_upd + n_tup_del > 0
ORDER BY bytes DESC, name;

-- name: rewrite
VACUUM FULL;

-- name: counters
-- The counts of the server since it began: bytes and whole pages of WAL, commits, rows.
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS wal_bytes,
       (SELECT wal_fpi FROM pg_stat_wal) AS page_images,
       (SELECT sum(xact_commit)::bigint FROM pg_stat_database) AS commits,
       (SELECT sum(tup_inserted)::bigint FROM pg_stat_database) AS inserted,
       (SELECT sum(tup_updated)::bigint FROM pg_stat_database) AS updated,
       (SELECT sum(tup_deleted)::bigint FROM pg_stat_database) AS deleted;

-- name: sizes
-- Bytes of tables and of indexes, each without the other; the largest first.
SELECT relation.relname AS name, pg_relation_size(relation.oid)::float8 AS bytes
FROM pg_class AS relation
WHERE relkind IN ('r', 'i', 't') AND relnamespace <> 'pg_catalog'::regnamespace
  AND pg_relation_size(relation.oid) > 1000000
ORDER BY bytes DESC;

-- name: checkpoint_often
ALTER SYSTEM SET checkpoint_timeout = '30s';

-- name: reload
SELECT pg_reload_conf();

-- name: guard_campaign
-- Quiet hours of the recipients that begin in six hours, and a cap that nobody has reached.
UPDATE campaigns
SET quiet_from = (now() AT TIME ZONE 'America/Sao_Paulo' + interval '6 hours')::time,
    quiet_until = (now() AT TIME ZONE 'America/Sao_Paulo' + interval '7 hours')::time,
    recipient_zones = '{America/Sao_Paulo}', cap_messages = 2, cap_period_s = 7 * 86400
WHERE campaign_id = $1;

-- name: guard_ranges
UPDATE ranges SET time_zones = 'America/Sao_Paulo' WHERE campaign_id = $1;

-- name: insert_earlier_ranges
-- Another campaign, which sent to the same people yesterday. Its range ids are those of the first one plus a high bit.
INSERT INTO ranges (range_id, campaign_id, ordinal, last_seq, claimed_through, state)
SELECT range_id + (1::bigint << 45), 0, ordinal, last_seq, last_seq, 'done' FROM ranges WHERE campaign_id = $1;

-- name: insert_earlier_recipients
INSERT INTO recipients (range_id, seq, phone, variables, line)
SELECT range_id + (1::bigint << 45), seq, phone, variables, line FROM recipients;

-- name: insert_earlier_outcomes
INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, attempted_at)
SELECT range_id, seq, 1, 1, 1, 4, 'earlier', now() - interval '1 day' FROM recipients
WHERE range_id IN (SELECT range_id FROM ranges WHERE campaign_id = 0);
