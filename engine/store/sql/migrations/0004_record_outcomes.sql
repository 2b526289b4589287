-- The last batch of attempts that each results writer counted: a batch that is replayed after a lost COMMIT counts once. One row for
-- each start of a sending process; `db prune` removes those of old.
CREATE TABLE counted_batches (
    results_writer       text        PRIMARY KEY,
    batch      bigint      NOT NULL,
    counted_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);  -- rewritten with every batch, within its page (HOT)

-- Adds what numbers did for campaigns, of batches that were not counted yet: `results writer` and `batch` are the same in all rows
-- of a call. first_attempt_us, last_attempt_us: microseconds since 1970.
CREATE FUNCTION count_attempts(attempts jsonb) RETURNS void
LANGUAGE sql AS $$
    WITH counted AS (
        SELECT * FROM jsonb_to_recordset(attempts)
            AS told (campaign_id bigint, phone_number_id text, limit_per_s float8, attempts bigint, accepted bigint,
                     throttled bigint, active_s float8, cpu_s float8, first_attempt_us bigint, last_attempt_us bigint,
                     results_writer text, batch bigint)),
    fresh AS (
        INSERT INTO counted_batches AS known (results_writer, batch)
        SELECT results_writer, max(batch) FROM counted GROUP BY results_writer
        ON CONFLICT (results_writer) DO UPDATE SET batch = EXCLUDED.batch, counted_at = now() WHERE known.batch < EXCLUDED.batch
        RETURNING results_writer)
    INSERT INTO campaign_numbers AS kept (campaign_id, phone_number_id, limit_per_s, attempts, accepted, throttled, active_s,
                                          cpu_s, first_attempt_at, last_attempt_at)
    SELECT campaign_id, phone_number_id, limit_per_s, attempts, accepted, throttled, active_s, cpu_s,
           timestamptz 'epoch' + first_attempt_us * interval '1 microsecond',
           timestamptz 'epoch' + last_attempt_us * interval '1 microsecond'
    FROM counted
    WHERE results_writer IN (SELECT results_writer FROM fresh)
    ORDER BY campaign_id, phone_number_id
    ON CONFLICT (campaign_id, phone_number_id) DO UPDATE
    SET limit_per_s = EXCLUDED.limit_per_s, attempts = kept.attempts + EXCLUDED.attempts,
        accepted = kept.accepted + EXCLUDED.accepted, throttled = kept.throttled + EXCLUDED.throttled,
        active_s = kept.active_s + EXCLUDED.active_s, cpu_s = kept.cpu_s + EXCLUDED.cpu_s,
        first_attempt_at = least(kept.first_attempt_at, EXCLUDED.first_attempt_at),
        last_attempt_at = greatest(kept.last_attempt_at, EXCLUDED.last_attempt_at);
$$;

-- Stores outcomes of recipients of whom nothing is recorded yet, with what numbers did, in one round trip and one
-- transaction; returns the recipients of whom something else is recorded already: for them nothing is done here. A batch
-- that is replayed after a lost COMMIT changes nothing: under the lock of the range counters, which all who write facts take
-- first, the look at what is recorded is exact, and costs less than ON CONFLICT, which looks too and writes more.
-- One statement alone could not do it: it sees only what was committed before it began to wait for the lock.
-- attempted_us: microseconds since 1970, when the request was written. attempts: as for count_attempts.
CREATE FUNCTION record_outcomes(
    range_ids bigint[], seqs integer[], attempt_nos integer[], epochs bigint[], kinds smallint[], phone_number_ids text[],
    wamids text[], codes integer[], reasons text[], attempted_us bigint[], attempts jsonb
) RETURNS TABLE (left_range_id bigint, left_seq integer)
LANGUAGE plpgsql
-- The look goes through the keys, whatever the statistics of a table say that was empty a minute ago.
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    stored_range_ids bigint[];
    stored_seqs      integer[];
BEGIN
    PERFORM FROM range_counters WHERE range_id = ANY(range_ids) ORDER BY range_id FOR UPDATE;
    PERFORM count_attempts(attempts);
    WITH stored AS (
        INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason, attempted_at)
        SELECT range_id, seq, attempt_no, epoch, kind, CASE kind WHEN 1 THEN 1::smallint END, phone_number_id, wamid, code, reason,
               timestamptz 'epoch' + attempted_us * interval '1 microsecond'
        FROM unnest(range_ids, seqs, attempt_nos, epochs, kinds, phone_number_ids, wamids, codes, reasons, attempted_us)
            AS fact (range_id, seq, attempt_no, epoch, kind, phone_number_id, wamid, code, reason, attempted_us)
        WHERE NOT EXISTS (SELECT 1 FROM outcomes WHERE outcomes.range_id = fact.range_id AND outcomes.seq = fact.seq)
          AND NOT EXISTS (SELECT 1 FROM pending_attempts WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq)
        RETURNING outcomes.range_id, outcomes.seq, outcomes.kind),
    counted AS (
        UPDATE range_counters
        SET accepted = accepted + change.accepts, failed = failed + change.failures, skipped = skipped + change.skips
        FROM (SELECT range_id, count(*) FILTER (WHERE kind = 1) AS accepts, count(*) FILTER (WHERE kind = 2) AS failures,
                     count(*) FILTER (WHERE kind = 3) AS skips
              FROM stored GROUP BY range_id) AS change
        WHERE range_counters.range_id = change.range_id)
    SELECT array_agg(range_id), array_agg(seq) FROM stored INTO stored_range_ids, stored_seqs;
    IF cardinality(seqs) > coalesce(cardinality(stored_seqs), 0) THEN
        -- A status may have come before the reply and written the row: what only the reply knows is added, and no state
        -- changes by it.
        RETURN QUERY
        WITH told AS (
            UPDATE outcomes
            SET wamid = coalesce(outcomes.wamid, fact.wamid),
                attempted_at = coalesce(attempted_at, timestamptz 'epoch' + fact.attempted_us * interval '1 microsecond')
            FROM unnest(range_ids, seqs, attempt_nos, kinds, wamids, attempted_us)
                AS fact (range_id, seq, attempt_no, kind, wamid, attempted_us)
            WHERE outcomes.range_id = fact.range_id AND outcomes.seq = fact.seq AND outcomes.attempt_no = fact.attempt_no
              AND outcomes.kind = 1 AND fact.kind = 1 AND outcomes.attempted_at IS NULL
              AND NOT EXISTS (SELECT 1 FROM pending_attempts WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq)
            RETURNING outcomes.range_id, outcomes.seq)
        SELECT * FROM unnest(range_ids, seqs)
        EXCEPT ALL SELECT * FROM unnest(stored_range_ids, stored_seqs)
        EXCEPT ALL SELECT range_id, seq FROM told;
    END IF;
END
$$;
