-- A range id is day << 47 | 47 random bits; day counts from 2020-01-01. One partition holds a calendar month of days.
CREATE FUNCTION first_range_id(day date) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (day - date '2020-01-01')::bigint << 47;

-- Makes the partitions of the month of a day, for every large table; does nothing where they exist.
-- fillfactor leaves room for HOT updates: outcomes are rewritten by up to three statuses, watermarks and range counters often.
CREATE FUNCTION create_partitions(day date) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    month_start date := date_trunc('month', day)::date;
    month_end   date := (date_trunc('month', day) + interval '1 month')::date;
    table_name  text;
    fill        integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('drumbeat.create_partitions', 0));
    FOR table_name, fill IN
        VALUES ('ranges', 50), ('range_counters', 50), ('claims', 100), ('recipients', 100), ('outcomes', 60), ('pending_attempts', 70)
    LOOP
        EXECUTE format(
            'CREATE TABLE IF NOT EXISTS %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s) WITH (fillfactor = %s)',
            table_name || to_char(month_start, '_YYYY_MM'), table_name,
            first_range_id(month_start), first_range_id(month_end), fill);
    END LOOP;
END
$$;

-- The one rule that says what a recipient's state is, from all that is recorded of it.
--   best_rank: greatest status of its accepted tries; a failure of an attempt that is not the current one does not count
--   last_kind: kind of its latest settled try, when no later attempt is open
CREATE FUNCTION present_state(
    skip_reason text, best_rank smallint, open_state text, last_kind smallint, unclaimed boolean, range_state text
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN skip_reason IS NOT NULL THEN 'skipped'
    WHEN best_rank > 0 THEN (ARRAY['accepted', 'sent', 'failed', 'delivered', 'read'])[best_rank]
    WHEN open_state = 'deferred' THEN 'deferred'
    WHEN open_state = 'unknown' THEN 'unknown'
    WHEN open_state = 'claimed' THEN 'pending'
    WHEN last_kind IN (1, 2) THEN 'failed'
    WHEN last_kind = 3 THEN 'skipped'
    WHEN unclaimed AND range_state = 'closed' THEN 'skipped'
    ELSE 'pending'
END;

-- Every recipient with its present state. Range counters must equal a count over this view at every moment.
-- Serves export, recount, and (by primary key) the states before and after a batch of facts.
CREATE VIEW recipient_states AS
SELECT recipients.range_id, ranges.campaign_id, ranges.ordinal, recipients.seq, recipients.phone, recipients.variables,
       recipients.line, pending_attempts.attempt_no AS open_try, pending_attempts.due_at, pending_attempts.since,
       present_state(recipients.skip_reason, attempt_nos.best_rank, pending_attempts.state, attempt_nos.last_kind,
                     recipients.seq > ranges.claimed_through, ranges.state) AS state,
       CASE
           WHEN recipients.skip_reason IS NOT NULL THEN recipients.skip_reason
           WHEN attempt_nos.best_rank > 1 AND attempt_nos.best_rank <> 3 THEN NULL
           WHEN attempt_nos.best_rank = 1 THEN attempt_nos.last_reason  -- a person's word ("assumed sent"), else NULL
           WHEN pending_attempts.state IN ('deferred', 'unknown') THEN pending_attempts.reason
           WHEN attempt_nos.last_reason IS NOT NULL THEN attempt_nos.last_reason
           WHEN recipients.seq > ranges.claimed_through AND ranges.state = 'closed' THEN ranges.closed_reason
       END AS reason,
       attempt_nos.wamid, attempt_nos.phone_number_id, attempt_nos.attempted_at, attempt_nos.sent_at, attempt_nos.delivered_at, attempt_nos.read_at,
       attempt_nos.failed_at
FROM recipients
JOIN ranges USING (range_id)
LEFT JOIN pending_attempts USING (range_id, seq)
LEFT JOIN LATERAL (
    SELECT max(CASE
                   WHEN outcomes.kind <> 1 THEN 0
                   WHEN outcomes.status = 3 AND outcomes.attempt_no < greatest(latest.attempt_no, pending_attempts.attempt_no) THEN 0
                   ELSE outcomes.status
               END)::smallint AS best_rank,
           (array_agg(outcomes.kind ORDER BY outcomes.attempt_no DESC))[1] AS last_kind,
           (array_agg(outcomes.reason ORDER BY outcomes.attempt_no DESC))[1] AS last_reason,
           (array_agg(outcomes.wamid ORDER BY outcomes.status DESC NULLS LAST))[1] AS wamid,
           (array_agg(outcomes.phone_number_id ORDER BY outcomes.attempt_no DESC))[1] AS phone_number_id,
           min(outcomes.attempted_at) AS attempted_at, min(outcomes.sent_at) AS sent_at,
           min(outcomes.delivered_at) AS delivered_at, min(outcomes.read_at) AS read_at, max(outcomes.failed_at) AS failed_at
    FROM outcomes,
         LATERAL (SELECT max(others.attempt_no) AS attempt_no FROM outcomes AS others
                  WHERE others.range_id = recipients.range_id AND others.seq = recipients.seq) AS latest
    WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq
) AS attempt_nos ON true;
