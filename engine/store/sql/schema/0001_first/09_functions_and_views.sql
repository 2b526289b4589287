-- Rules and routines that more than one statement uses.

-- Where this database is, to be compared with the row of `installation`. A restored copy and a promoted standby differ in
-- at least one of these. The timeline is that of the next write. The last checkpoint's is not used: for minutes after a
-- promotion it is still that of the former primary. timeline NULL: this server is a standby.
CREATE VIEW database_identity AS
SELECT system_identifier, pg_database.oid::bigint AS database_oid,
       CASE WHEN NOT pg_is_in_recovery()
            THEN ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END AS timeline
FROM pg_control_system(), pg_database
WHERE datname = current_database();

-- The one rule that says what a recipient's state is.
--   best_rank      the greatest status of its accepted attempts; a failure of an earlier attempt does not count
--   pending_state  the state of its row in pending_attempts
--   last_kind      the kind of its latest outcome
--   unclaimed      it lies above the watermark of its range
CREATE FUNCTION present_state(
    skip_reason text, best_rank smallint, pending_state text, last_kind smallint, unclaimed boolean, range_state text
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN skip_reason IS NOT NULL THEN 'skipped'
    WHEN best_rank > 0 THEN (ARRAY['accepted', 'sent', 'failed', 'delivered', 'read'])[best_rank]
    WHEN pending_state = 'deferred' THEN 'deferred'
    WHEN pending_state = 'unknown' THEN 'unknown'
    WHEN pending_state = 'claimed' THEN 'pending'
    WHEN last_kind IN (1, 2) THEN 'failed'
    WHEN last_kind = 3 THEN 'skipped'
    WHEN unclaimed AND range_state = 'closed' THEN 'skipped'
    ELSE 'pending'
END;

-- Every recipient with its present state, the reason for it, and what its attempts have in common; `code` is of a failed one.
-- Range counters equal a count over this view at every moment. Exports read it by range, recording reads it by key before and
-- after a batch.
CREATE VIEW recipient_states AS
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

-- Adds what numbers did for campaigns, unless the batch was counted before. All rows of a call have the same results_writer
-- and batch. first_attempt_us, last_attempt_us: microseconds since 1970.
CREATE FUNCTION count_attempts(attempts jsonb) RETURNS void
LANGUAGE sql AS $$
    WITH counted AS (
        SELECT * FROM jsonb_to_recordset(attempts)
            AS attempts (campaign_id bigint, phone_number_id text, limit_per_s float8, attempts bigint, accepted bigint,
                         throttled bigint, active_s float8, cpu_s float8, first_attempt_us bigint, last_attempt_us bigint,
                         results_writer text, batch bigint, reply_counts bigint[])),
    fresh AS (
        INSERT INTO counted_batches AS known (results_writer, batch)
        SELECT results_writer, max(batch) FROM counted GROUP BY results_writer
        ON CONFLICT (results_writer) DO UPDATE SET batch = EXCLUDED.batch, counted_at = now()
        WHERE known.batch < EXCLUDED.batch
        RETURNING results_writer)
    INSERT INTO campaign_numbers AS kept (campaign_id, phone_number_id, limit_per_s, attempts, accepted, throttled, active_s,
                                          cpu_s, first_attempt_at, last_attempt_at, reply_counts)
    SELECT campaign_id, phone_number_id, limit_per_s, attempts, accepted, throttled, active_s, cpu_s,
           timestamptz 'epoch' + first_attempt_us * interval '1 microsecond',
           timestamptz 'epoch' + last_attempt_us * interval '1 microsecond', reply_counts
    FROM counted
    WHERE results_writer IN (SELECT results_writer FROM fresh)
    ORDER BY campaign_id, phone_number_id
    ON CONFLICT (campaign_id, phone_number_id) DO UPDATE
    SET limit_per_s = EXCLUDED.limit_per_s, attempts = kept.attempts + EXCLUDED.attempts,
        accepted = kept.accepted + EXCLUDED.accepted, throttled = kept.throttled + EXCLUDED.throttled,
        active_s = kept.active_s + EXCLUDED.active_s, cpu_s = kept.cpu_s + EXCLUDED.cpu_s,
        first_attempt_at = least(kept.first_attempt_at, EXCLUDED.first_attempt_at),
        last_attempt_at = greatest(kept.last_attempt_at, EXCLUDED.last_attempt_at),
        reply_counts = CASE
            WHEN EXCLUDED.reply_counts IS NULL OR kept.reply_counts IS NULL
            THEN coalesce(kept.reply_counts, EXCLUDED.reply_counts)
            ELSE ARRAY(SELECT coalesce(former, 0) + coalesce(added, 0)
                       FROM unnest(kept.reply_counts, EXCLUDED.reply_counts) WITH ORDINALITY AS counts (former, added, bucket)
                       ORDER BY bucket) END;
$$;

-- Stores outcomes of recipients without a record, with what numbers did, in one round trip and one transaction. A run is a
-- series of neighbouring recipients of one range, epoch and number: what they share is passed and looked up once for the run.
-- Returns the positions of the runs in which any recipient has a record already: nothing was stored of them.
-- A batch that is repeated after a lost COMMIT changes nothing. Everybody who writes facts holds the lock of the range
-- counters, so looking for records under that lock is exact. It costs less than ON CONFLICT, which looks too and writes more.
-- A single statement could not do it: it sees only what was committed before it began to wait for the lock.
--   failures, skips  how many outcomes of each run failed or were skipped
--   runs             for each outcome, the position of its run, from 1
--   attempt_nos, kinds, codes, reasons  if empty: all are first attempts, accepted, without code, without reason
--   attempted_us     microseconds since 1970; attempts: as for count_attempts
CREATE FUNCTION record_outcome_runs(
    range_ids bigint[], epochs bigint[], phone_number_ids text[], first_seqs integer[], lengths integer[],
    failures integer[], skips integer[],
    runs integer[], seqs integer[], attempt_nos integer[], kinds smallint[], wamids text[], codes integer[], reasons text[],
    attempted_us bigint[], attempts jsonb
) RETURNS bigint[]
LANGUAGE plpgsql
-- Looks go by key, whatever statistics say of a table that was empty a minute ago; OFFSET 0 has the same purpose.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    recorded_runs bigint[];
BEGIN
    PERFORM FROM range_counters WHERE range_id = ANY(range_ids) ORDER BY range_id FOR UPDATE;
    PERFORM count_attempts(attempts);
    recorded_runs := ARRAY(
        SELECT run
        FROM unnest(range_ids, first_seqs, lengths) WITH ORDINALITY AS outcome_run (range_id, first_seq, length, run)
        WHERE EXISTS (SELECT 1 FROM outcomes
                      WHERE outcomes.range_id = outcome_run.range_id
                        AND outcomes.seq BETWEEN outcome_run.first_seq AND outcome_run.first_seq + outcome_run.length - 1
                      OFFSET 0)
           OR EXISTS (SELECT 1 FROM pending_attempts
                      WHERE pending_attempts.range_id = outcome_run.range_id
                        AND pending_attempts.seq
                            BETWEEN outcome_run.first_seq AND outcome_run.first_seq + outcome_run.length - 1
                      OFFSET 0));
    INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason, attempted_at)
    SELECT range_ids[run], seq, coalesce(attempt_no, 1), epochs[run], coalesce(kind, 1::smallint),
           CASE WHEN coalesce(kind, 1) = 1 THEN 1::smallint END, phone_number_ids[run], wamid, code, reason,
           to_timestamp(us / 1e6::float8)
    FROM (SELECT unnest(runs) AS run, unnest(seqs) AS seq, unnest(attempt_nos) AS attempt_no, unnest(kinds) AS kind,
                 unnest(wamids) AS wamid, unnest(codes) AS code, unnest(reasons) AS reason,
                 unnest(attempted_us) AS us) AS fact
    WHERE run <> ALL(recorded_runs);
    IF array_length(failures, 1) > 0 AND 0 < ANY (failures) AND EXISTS (SELECT FROM subscriptions) THEN
        PERFORM note_events(array_agg(range_ids[run]), array_agg(seq), array_agg(3::smallint),
                            array_agg(to_timestamp(us / 1e6::float8)), array_agg(code))
        FROM (SELECT unnest(runs) AS run, unnest(seqs) AS seq, unnest(kinds) AS kind, unnest(codes) AS code,
                     unnest(attempted_us) AS us) AS fact
        WHERE kind = 2 AND run <> ALL(recorded_runs);
    END IF;
    UPDATE range_counters
    SET accepted = accepted + change.accepts, failed = failed + change.failures, skipped = skipped + change.skips
    FROM (SELECT range_id, sum(length - failures - skips) AS accepts, sum(failures) AS failures, sum(skips) AS skips
          FROM unnest(range_ids, lengths, failures, skips) WITH ORDINALITY
              AS outcome_run (range_id, length, failures, skips, run)
          WHERE run <> ALL(recorded_runs)
          GROUP BY range_id) AS change
    WHERE range_counters.range_id = change.range_id AND range_counters.range_id = ANY(range_ids);
    RETURN recorded_runs;
END
$$;

-- The oldest groups that hold `events_max` events together; the last of them may exceed it. A loop, because it ends with the
-- last group that is needed: a running sum would read all that wait.
CREATE FUNCTION oldest_groups(events_max integer) RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
    next_group   record;
    group_ids    bigint[] := '{}';
    found_events bigint := 0;
BEGIN
    FOR next_group IN SELECT group_id, events FROM inbox_groups ORDER BY group_id LOOP
        EXIT WHEN found_events >= events_max;
        group_ids := group_ids || next_group.group_id;
        found_events := found_events + next_group.events;
    END LOOP;
    RETURN group_ids;
END
$$;

-- All status events that wait to be applied, one by one, for people and for counts. Reads all of them.
CREATE VIEW waiting_events AS
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

-- The other spelling of a phone: the table of engine/core/phone_aliases.py, which a test compares by many phones of each
-- head. phone / 10^n is what stands before the last n digits, so it tells length and head; % 10 takes one digit. It is
-- arithmetic because reports ask for each recipient: 52 patterns took a millisecond, for the server keeps only 32 compiled.
CREATE FUNCTION other_spelling(phone bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN left(phone::text, 2) NOT IN ('22', '23', '24', '52', '54', '55', '57', '84') THEN NULL
    WHEN phone / 10000000000 = 55 AND phone / 10000000 % 10 >= 6 THEN left(phone::text, 4) || '9' || right(phone::text, 8)
    WHEN phone / 100000000000 = 55 AND phone / 10000000 % 100 >= 96 THEN left(phone::text, 4) || right(phone::text, 8)
    WHEN phone / 10000000000 IN (521, 52)
        THEN CASE phone / 10000000000 WHEN 521 THEN '52' ELSE '521' END || right(phone::text, 10)
    WHEN phone / 10000000000 IN (54, 549)
        THEN CASE phone / 10000000000 WHEN 54 THEN '549' ELSE '54' END || right(phone::text, 10)
    WHEN phone / 100000000 IN (225, 22507) AND phone / 10000000 % 10 NOT IN (1, 2, 3) AND phone / 1000000 % 10 >= 7
        THEN CASE phone / 100000000 WHEN 225 THEN '22507' ELSE '225' END || right(phone::text, 8)
    WHEN phone / 100000000 IN (225, 22505) AND phone / 10000000 % 10 NOT IN (1, 2, 3) AND phone / 1000000 % 10 BETWEEN 4 AND 6
        THEN CASE phone / 100000000 WHEN 225 THEN '22505' ELSE '225' END || right(phone::text, 8)
    WHEN phone / 100000000 IN (225, 22501) AND phone / 10000000 % 10 NOT IN (1, 2, 3) AND phone / 1000000 % 10 <= 3
        THEN CASE phone / 100000000 WHEN 225 THEN '22501' ELSE '225' END || right(phone::text, 8)
    WHEN phone / 100000000 IN (225, 22527) AND phone / 10000000 % 10 IN (2, 3) AND phone / 100000 % 10 NOT IN (0, 8)
        THEN CASE phone / 100000000 WHEN 225 THEN '22527' ELSE '225' END || right(phone::text, 8)
    WHEN phone / 100000000 IN (225, 22525) AND phone / 10000000 % 10 IN (2, 3) AND phone / 100000 % 10 = 0
        THEN CASE phone / 100000000 WHEN 225 THEN '22525' ELSE '225' END || right(phone::text, 8)
    WHEN phone / 100000000 IN (225, 22521) AND phone / 10000000 % 10 IN (2, 3) AND phone / 100000 % 10 = 8
        THEN CASE phone / 100000000 WHEN 225 THEN '22521' ELSE '225' END || right(phone::text, 8)
    WHEN phone / 100000000 IN (229, 22901) AND phone / 10000000 % 10 >= 2
        THEN CASE phone / 100000000 WHEN 229 THEN '22901' ELSE '229' END || right(phone::text, 8)
    WHEN phone / 10000000 IN (2410, 2416) AND phone / 1000000 % 10 IN (2, 5, 6)
        THEN CASE phone / 10000000 WHEN 2410 THEN '2416' ELSE '2410' END || right(phone::text, 7)
    WHEN phone / 10000000 IN (2410, 2417) AND phone / 1000000 % 10 IN (4, 7)
        THEN CASE phone / 10000000 WHEN 2410 THEN '2417' ELSE '2410' END || right(phone::text, 7)
    WHEN phone / 10000000 IN (2410, 2411) AND phone / 1000000 % 10 = 1
        THEN CASE phone / 10000000 WHEN 2410 THEN '2411' ELSE '2410' END || right(phone::text, 7)
    WHEN phone / 100000000 IN (237, 2376) AND phone / 10000000 % 10 IN (6, 7, 9)
        THEN CASE phone / 100000000 WHEN 237 THEN '2376' ELSE '237' END || right(phone::text, 8)
    WHEN phone / 100000000 IN (237, 2372) AND phone / 1000000 % 100 IN (22, 33)
        THEN CASE phone / 100000000 WHEN 237 THEN '2372' ELSE '237' END || right(phone::text, 8)
    WHEN phone / 10000000 IN (230, 2305) AND phone / 1000000 % 10 IN (7, 9)
        THEN CASE phone / 10000000 WHEN 230 THEN '2305' ELSE '230' END || right(phone::text, 7)
    WHEN phone / 100000000 IN (57, 5760) AND phone / 10000000 % 10 IN (1, 2, 4, 5, 6, 7, 8) AND phone / 1000000 % 100 <> 46
        THEN CASE phone / 100000000 WHEN 57 THEN '5760' ELSE '57' END || right(phone::text, 8)
    WHEN phone / 100000000 IN (8412, 847) AND phone / 10000000 % 10 IN (0, 6, 8)
        THEN CASE phone / 100000000 WHEN 8412 THEN '847' ELSE '8412' END || right(phone::text, 8)
    WHEN phone / 10000000 IN (84121, 8479)
        THEN CASE phone / 10000000 WHEN 84121 THEN '8479' ELSE '84121' END || right(phone::text, 7)
    WHEN phone / 10000000 IN (84122, 8477)
        THEN CASE phone / 10000000 WHEN 84122 THEN '8477' ELSE '84122' END || right(phone::text, 7)
    WHEN phone / 100000000 IN (8412, 848) AND phone / 10000000 % 10 IN (3, 4, 5)
        THEN CASE phone / 100000000 WHEN 8412 THEN '848' ELSE '8412' END || right(phone::text, 8)
    WHEN phone / 10000000 IN (84127, 8481)
        THEN CASE phone / 10000000 WHEN 84127 THEN '8481' ELSE '84127' END || right(phone::text, 7)
    WHEN phone / 10000000 IN (84129, 8482)
        THEN CASE phone / 10000000 WHEN 84129 THEN '8482' ELSE '84129' END || right(phone::text, 7)
    WHEN phone / 100000000 IN (8416, 843) AND phone / 10000000 % 10 >= 2
        THEN CASE phone / 100000000 WHEN 8416 THEN '843' ELSE '8416' END || right(phone::text, 8)
    WHEN phone / 100000000 IN (8418, 845) AND phone / 10000000 % 10 IN (6, 8)
        THEN CASE phone / 100000000 WHEN 8418 THEN '845' ELSE '8418' END || right(phone::text, 8)
    WHEN phone / 10000000 IN (84199, 8459)
        THEN CASE phone / 10000000 WHEN 84199 THEN '8459' ELSE '84199' END || right(phone::text, 7)
END;

-- The spellings of one phone, as digits, itself first.
CREATE FUNCTION phone_spellings(phone bigint) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN array_remove(ARRAY[phone::text, other_spelling(phone)], NULL);

-- What a recipient answered to one message: what quotes it, and what came within a week after it and quotes nothing. The
-- service's times have whole seconds. A person's messages are always found by the person: OFFSET 0 keeps the planner from
-- reading a week's messages of everybody for each recipient, by the index on time.
CREATE FUNCTION replies_to(phone bigint, wamid text, attempted_at timestamptz) RETURNS SETOF incoming_messages
LANGUAGE sql STABLE AS $$
    SELECT incoming_messages.* FROM incoming_messages
    WHERE hashtextextended(body #>> '{context,id}', 0) = hashtextextended($2, 0) AND body #>> '{context,id}' = $2
      AND body #>> '{context,id}' IS NOT NULL
    UNION ALL
    SELECT written.* FROM (SELECT * FROM incoming_messages WHERE sender = ANY (phone_spellings($1)) OFFSET 0) AS written
    WHERE body #>> '{context,id}' IS NULL AND sent_at >= date_trunc('second', $3) AND sent_at < $3 + interval '7 days'
$$;
