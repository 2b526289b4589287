-- A wamid is long and random: its hash makes the index a quarter of the size, and an outcome cheaper to store.
-- Who looks for a wamid asks for its hash too. Outcomes cannot be stored while it is built: with many millions of them, stop
-- senders and receivers first.
CREATE INDEX outcomes_wamid_hash ON outcomes (hashtextextended(wamid, 0));
DROP INDEX outcomes_wamid;

-- As before, in a language whose plans every Postgres keeps: before 18, one in SQL is planned anew at each call.
CREATE OR REPLACE FUNCTION count_attempts(attempts jsonb) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH counted AS (
        SELECT * FROM jsonb_to_recordset(attempts)
            AS told (campaign_id bigint, phone_number_id text, limit_per_s float8, attempts bigint, accepted bigint,
                     throttled bigint, active_s float8, cpu_s float8, first_attempt_us bigint, last_attempt_us bigint,
                     sink text, batch bigint)),
    fresh AS (
        INSERT INTO counted_batches AS known (sink, batch)
        SELECT sink, max(batch) FROM counted GROUP BY sink
        ON CONFLICT (sink) DO UPDATE SET batch = EXCLUDED.batch, counted_at = now() WHERE known.batch < EXCLUDED.batch
        RETURNING sink)
    INSERT INTO campaign_numbers AS kept (campaign_id, phone_number_id, limit_per_s, attempts, accepted, throttled, active_s,
                                          cpu_s, first_attempt_at, last_attempt_at)
    SELECT campaign_id, phone_number_id, limit_per_s, attempts, accepted, throttled, active_s, cpu_s,
           timestamptz 'epoch' + first_attempt_us * interval '1 microsecond',
           timestamptz 'epoch' + last_attempt_us * interval '1 microsecond'
    FROM counted
    WHERE sink IN (SELECT sink FROM fresh)
    ORDER BY campaign_id, phone_number_id
    ON CONFLICT (campaign_id, phone_number_id) DO UPDATE
    SET limit_per_s = EXCLUDED.limit_per_s, attempts = kept.attempts + EXCLUDED.attempts,
        accepted = kept.accepted + EXCLUDED.accepted, throttled = kept.throttled + EXCLUDED.throttled,
        active_s = kept.active_s + EXCLUDED.active_s, cpu_s = kept.cpu_s + EXCLUDED.cpu_s,
        first_attempt_at = least(kept.first_attempt_at, EXCLUDED.first_attempt_at),
        last_attempt_at = greatest(kept.last_attempt_at, EXCLUDED.last_attempt_at);
END
$$;
