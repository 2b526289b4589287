-- As in migration 0004, but for its looks: a connection keeps a plan for minutes, and one made for any number of outcomes
-- while the table was empty read all of it for each of them.
CREATE OR REPLACE FUNCTION record_outcomes(
    range_ids bigint[], seqs integer[], attempt_nos integer[], epochs bigint[], kinds smallint[], phone_number_ids text[],
    wamids text[], codes integer[], reasons text[], attempted_us bigint[], attempts jsonb
) RETURNS TABLE (left_range_id bigint, left_seq integer)
LANGUAGE plpgsql
-- The look goes through the keys, whatever the statistics of a table say that was empty a minute ago; so does OFFSET 0.
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
        WHERE NOT EXISTS (SELECT 1 FROM outcomes
                          WHERE outcomes.range_id = fact.range_id AND outcomes.seq = fact.seq OFFSET 0)
          AND NOT EXISTS (SELECT 1 FROM pending_attempts
                          WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq OFFSET 0)
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
            WHERE outcomes.range_id = ANY(range_ids)
              AND outcomes.range_id = fact.range_id AND outcomes.seq = fact.seq AND outcomes.attempt_no = fact.attempt_no
              AND outcomes.kind = 1 AND fact.kind = 1 AND outcomes.attempted_at IS NULL
              AND NOT EXISTS (SELECT 1 FROM pending_attempts
                              WHERE pending_attempts.range_id = fact.range_id AND pending_attempts.seq = fact.seq OFFSET 0)
            RETURNING outcomes.range_id, outcomes.seq)
        SELECT * FROM unnest(range_ids, seqs)
        EXCEPT ALL SELECT * FROM unnest(stored_range_ids, stored_seqs)
        EXCEPT ALL SELECT range_id, seq FROM told;
    END IF;
END
$$;
