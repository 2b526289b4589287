-- Applying status events to recipients and range counters, a batch in one transaction. Most recipients are plain: their only
-- recorded attempt is the accepted one that the event is about. A fresh recipient has no record yet. All others are looked up:
-- their states are compared before and after.

-- name: create_workspace
-- The events that a batch cannot apply at once: those without our tag, and those of recipients that are not plain. Every
-- commit empties these tables.
CREATE TEMP TABLE IF NOT EXISTS applying_events (
    received_at timestamptz NOT NULL, wamid text NOT NULL, status smallint NOT NULL, status_at timestamptz NOT NULL,
    phone_number_id text, recipient text, installation text, range_id bigint, seq integer, attempt_no integer, epoch bigint,
    code integer, detail text, pricing smallint, matches_tried integer NOT NULL, by_pair boolean NOT NULL DEFAULT false
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS applying_looked_up (range_id bigint NOT NULL, seq integer NOT NULL) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS applying_before (range_id bigint NOT NULL, seq integer NOT NULL, state text NOT NULL)
ON COMMIT DELETE ROWS;

-- name: begin
-- One process at a time works, because two would only wait for each other. Losing this lock loses nothing: the deletion of an
-- event decides who applies it. random_page_cost makes the planner look rows up by position or by key. A plan that was made while
-- the tables were small, or from statistics of that time, would read everything between the first and the last range.
SELECT pg_try_advisory_xact_lock(hashtextextended('drumbeat.apply_statuses', 0)) AS alone,
       set_config('random_page_cost', '0.001', true),
       to_regclass('pg_temp.applying_before') IS NOT NULL AS has_workspace;

-- name: due
-- The oldest groups of events: those with our tags and their ranges, and those without. It also tells if events that wait by
-- themselves are due, and if a message failed or failures in a row are being counted.
WITH head AS MATERIALIZED (
    SELECT group_id, events, range_ids, 3 = ANY (statuses) AS has_failure, installation IS NOT DISTINCT FROM (SELECT installation FROM installation) AS ours
    FROM inbox_groups WHERE group_id = ANY ((SELECT oldest_groups($1))::bigint[]))
SELECT coalesce(sum(events), 0)::bigint AS events,
       coalesce(array_agg(group_id) FILTER (WHERE ours), '{}') AS tagged,
       coalesce(array_agg(group_id) FILTER (WHERE NOT ours), '{}') AS others,
       ARRAY(SELECT DISTINCT unnest(range_ids) FROM head WHERE ours) AS range_ids,
       EXISTS (SELECT 1 FROM inbox WHERE due_at <= now()) AS singles,
       coalesce(bool_or(has_failure), false) OR EXISTS (SELECT 1 FROM status_failure_runs) AS failures
FROM head;

-- name: take_others
-- Takes the groups without our tags, $1, and up to $2 events that wait by themselves, the longest due first.
-- Here and below, an event is taken by DELETE ... RETURNING. There is no cursor over ids that could skip an event that is
-- committed late.
WITH groups AS (
    DELETE FROM inbox_groups WHERE group_id = ANY ($1)
    RETURNING received_at, installation, wamids, statuses, status_us, phone_number_ids, recipients, codes, details, pricings),
singles AS (
    DELETE FROM inbox
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM inbox WHERE due_at <= now() ORDER BY due_at LIMIT $2))
    RETURNING received_at, wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq, attempt_no, epoch,
              code, detail, pricing, matches_tried, installation IS NOT DISTINCT FROM (SELECT installation FROM installation) AS ours),
kept AS (
    INSERT INTO applying_events (received_at, wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq,
                             attempt_no, epoch, code, detail, pricing, matches_tried)
    SELECT received_at, wamid, status, status_at, phone_number_id, recipient, installation,
           CASE WHEN ours THEN range_id END, CASE WHEN ours THEN seq END, CASE WHEN ours THEN attempt_no END,
           CASE WHEN ours THEN epoch END, code, detail, pricing, matches_tried
    FROM singles
    UNION ALL
    SELECT received_at, wamid, status, to_timestamp(us / 1e6::float8), phone_number_id, recipient, installation,
           NULL, NULL, NULL, NULL, code, detail, pricing, 0
    FROM (SELECT received_at, installation, unnest(wamids) AS wamid, unnest(statuses) AS status, unnest(status_us) AS us,
                 unnest(phone_number_ids) AS phone_number_id, unnest(recipients) AS recipient, unnest(codes) AS code,
                 unnest(details) AS detail, unnest(pricings) AS pricing
          FROM groups) AS events
    RETURNING 1)
SELECT count(*) FROM kept;

-- name: match_wamids
-- One look by key for each event. Statistics may be older than the rows, and a join would then read all outcomes.
UPDATE applying_events
SET (range_id, seq, attempt_no, epoch) = (
    SELECT range_id, seq, attempt_no, epoch FROM outcomes
    WHERE hashtextextended(outcomes.wamid, 0) = hashtextextended(applying_events.wamid, 0)
      AND outcomes.wamid = applying_events.wamid
    LIMIT 1)
WHERE range_id IS NULL;

-- name: unmatched_of_numbers_in_doubt
-- Events without opaque data, of numbers with attempts in doubt.
SELECT DISTINCT phone_number_id, recipient FROM applying_events
WHERE range_id IS NULL AND installation IS NULL AND recipient IS NOT NULL
  AND EXISTS (SELECT 1 FROM pending_attempts
              WHERE pending_attempts.phone_number_id = applying_events.phone_number_id AND pending_attempts.state = 'unknown');

-- name: match_pairs
-- An event without a tag settles an attempt in doubt only if it can be about nothing else. That means: it is the only attempt
-- in doubt of that number and recipient over all campaigns; none of the pair is under way or to be sent again; every other
-- attempt of the pair has an outcome with a wamid; there is one such message among the events; and the attempt was claimed
-- before the event, give or take a minute for clocks that differ.
-- All of it is one statement, with one snapshot: an outcome that is stored in between must not make an attempt look like the
-- only one.
WITH aliased AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) AS pair (phone_number_id, recipient, phone)),
in_doubt AS (
    SELECT aliased.phone_number_id, aliased.recipient, pending_attempts.range_id, pending_attempts.seq,
           pending_attempts.attempt_no, pending_attempts.epoch,
           count(*) OVER (PARTITION BY aliased.phone_number_id, aliased.recipient) AS candidates
    FROM aliased
    JOIN pending_attempts ON pending_attempts.phone_number_id = aliased.phone_number_id AND pending_attempts.state = 'unknown'
    JOIN recipients ON recipients.range_id = pending_attempts.range_id AND recipients.seq = pending_attempts.seq
                   AND recipients.phone = aliased.phone),
sole AS (
    SELECT in_doubt.*, claimed.claimed_at FROM in_doubt
    LEFT JOIN LATERAL (
        SELECT claims.claimed_at FROM claims
        WHERE claims.range_id = in_doubt.range_id AND claims.from_seq <= in_doubt.seq
          AND claims.epoch = in_doubt.epoch
        ORDER BY claims.from_seq DESC LIMIT 1) AS claimed ON true
    WHERE in_doubt.candidates = 1
      AND NOT EXISTS (
          SELECT 1 FROM aliased
          JOIN pending_attempts ON pending_attempts.phone_number_id = aliased.phone_number_id
                         AND (pending_attempts.state = 'claimed'
                              OR pending_attempts.state = 'deferred' AND pending_attempts.resend)
          JOIN recipients ON recipients.range_id = pending_attempts.range_id AND recipients.seq = pending_attempts.seq
                         AND recipients.phone = aliased.phone
          WHERE aliased.phone_number_id = in_doubt.phone_number_id AND aliased.recipient = in_doubt.recipient)
      AND NOT EXISTS (
          SELECT 1 FROM aliased
          JOIN outcomes ON outcomes.phone_number_id = aliased.phone_number_id AND outcomes.kind = 1
                       AND outcomes.wamid IS NULL
          JOIN recipients ON recipients.range_id = outcomes.range_id AND recipients.seq = outcomes.seq
                         AND recipients.phone = aliased.phone
          WHERE aliased.phone_number_id = in_doubt.phone_number_id AND aliased.recipient = in_doubt.recipient)
      AND NOT EXISTS (
          SELECT 1 FROM aliased
          JOIN ranges ON ranges.phone_number_id = aliased.phone_number_id
          JOIN recipients ON recipients.range_id = ranges.range_id AND recipients.seq <= ranges.claimed_through
                         AND recipients.phone = aliased.phone AND recipients.skip_reason IS NULL
          WHERE aliased.phone_number_id = in_doubt.phone_number_id AND aliased.recipient = in_doubt.recipient
            AND NOT EXISTS (SELECT 1 FROM outcomes
                            WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
            AND NOT EXISTS (SELECT 1 FROM pending_attempts
                            WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq))),
messages AS (
    SELECT phone_number_id, recipient, min(wamid) AS wamid, min(status_at) AS first_at FROM applying_events
    WHERE range_id IS NULL AND installation IS NULL
    GROUP BY phone_number_id, recipient HAVING min(wamid) = max(wamid))
UPDATE applying_events
SET range_id = sole.range_id, seq = sole.seq, attempt_no = sole.attempt_no, epoch = sole.epoch, by_pair = true
FROM sole JOIN messages USING (phone_number_id, recipient)
WHERE applying_events.range_id IS NULL AND applying_events.wamid = messages.wamid
  AND (sole.claimed_at IS NULL OR messages.first_at > sole.claimed_at - interval '1 minute')
  AND NOT EXISTS (SELECT 1 FROM outcomes
                  WHERE hashtextextended(outcomes.wamid, 0) = hashtextextended(messages.wamid, 0)
                    AND outcomes.wamid = messages.wamid
                  OFFSET 0);

-- name: lock_range_counters
-- The lock that every writer of facts takes, in the order of ranges: from now on nobody else changes these ranges. Returns the
-- ranges and their bounds.
SELECT min(range_id) AS first_range_id, max(range_id) AS last_range_id, array_agg(range_id) AS range_ids FROM (
    SELECT range_id FROM range_counters
    WHERE range_id IN (SELECT unnest($1::bigint[]) UNION SELECT range_id FROM applying_events)
    ORDER BY range_id FOR UPDATE) AS locked;

-- name: unmatch_settled_pairs
-- An attempt that was settled or deferred before we had the lock is no longer in doubt.
UPDATE applying_events SET range_id = NULL, by_pair = false
WHERE by_pair AND NOT EXISTS (
    SELECT 1 FROM pending_attempts
    WHERE pending_attempts.range_id = applying_events.range_id AND pending_attempts.seq = applying_events.seq
      AND pending_attempts.attempt_no = applying_events.attempt_no AND pending_attempts.state = 'unknown');

-- name: apply_plain
-- Takes the groups of events $1, whose range counters are locked, and applies what they say of plain recipients. Events of
-- all other recipients are put into applying_events.
-- All attempts of a recipient lie side by side in the key, so that one look finds the accepted one and any other. The looks go
-- in the order of the key, to walk index and pages forward. OFFSET 0 keeps them looks by key, because the planner does not
-- know how few rows are asked for.
-- A row that was found is then updated by its position (ctid), which cannot change under the lock: another look by key would
-- cost as much as the first. The array of all positions lets the planner go by position without a look for each row.
-- $2, $3: the bounds of the locked ranges. They choose the partitions once; with seven partitions, choosing them for each
-- recipient costs a tenth. $4: the ranges. They bound what is read of pending_attempts (once, into a hash) and range_counters.
-- Noted for programs is each status that is above all former ones, in this order.
WITH taken AS (
    DELETE FROM inbox_groups WHERE group_id = ANY ($1)
    RETURNING received_at, installation, events, range_ids, seqs, attempt_nos, epochs, statuses, status_us, wamids,
              phone_number_ids, recipients, codes, details, pricings),
looked AS MATERIALIZED (
    SELECT events.range_id, events.seq, max(events.status) AS rank,
           to_timestamp(min(us) FILTER (WHERE events.status = 2) / 1e6::float8) AS sent_at,
           to_timestamp(min(us) FILTER (WHERE events.status = 4) / 1e6::float8) AS delivered_at,
           to_timestamp(min(us) FILTER (WHERE events.status = 5) / 1e6::float8) AS read_at,
           to_timestamp(min(us) FILTER (WHERE events.status = 3) / 1e6::float8) AS failed_at, max(pricing) AS pricing,
           max(code) AS code, max(detail COLLATE "C") AS detail, min(recorded.status) AS was, min(recorded.position) AS position,
           coalesce(bool_and(recorded.attempt_no = events.attempt_no AND recorded.kind = 1 AND recorded.named), false)
               AND (events.range_id, events.seq) NOT IN (
                   SELECT range_id, seq FROM pending_attempts
                   WHERE range_id = ANY ($4) AND range_id BETWEEN $2 AND $3) AS plain
    FROM (SELECT unnest(range_ids) AS range_id, unnest(seqs) AS seq, unnest(attempt_nos) AS attempt_no,
                 unnest(statuses) AS status, unnest(status_us) AS us, unnest(codes) AS code, unnest(details) AS detail,
                 unnest(pricings) AS pricing FROM taken
          UNION ALL
          SELECT range_id, seq, attempt_no, status, (extract(epoch FROM status_at) * 1000000)::bigint, code, detail, pricing
          FROM applying_events WHERE range_id IS NOT NULL
          ORDER BY range_id, seq) AS events
    LEFT JOIN LATERAL (
        SELECT attempt_no, kind, status, wamid IS NOT NULL AS named, outcomes.ctid AS position FROM outcomes
        WHERE outcomes.range_id = events.range_id AND outcomes.seq = events.seq
          AND outcomes.range_id BETWEEN $2 AND $3 OFFSET 0) AS recorded ON true
    GROUP BY events.range_id, events.seq),
others AS MATERIALIZED (SELECT range_id, seq FROM looked WHERE NOT plain),
written AS (
    -- An update within the page (HOT). Values that a repeated event would write again are not written.
    UPDATE outcomes
    SET status = greatest(outcomes.status, looked.rank),
        sent_at = least(outcomes.sent_at, looked.sent_at),
        delivered_at = least(outcomes.delivered_at, looked.delivered_at),
        read_at = least(outcomes.read_at, looked.read_at),
        failed_at = least(outcomes.failed_at, looked.failed_at),
        code = coalesce(outcomes.code, looked.code), pricing = coalesce(looked.pricing, outcomes.pricing),
        reason = CASE WHEN looked.failed_at IS NULL THEN outcomes.reason
                      ELSE coalesce(looked.detail, looked.code::text, outcomes.reason, 'failed') END
    FROM looked
    WHERE looked.plain
      AND outcomes.ctid = ANY (ARRAY(SELECT position FROM looked WHERE plain))
      AND outcomes.ctid = looked.position AND outcomes.range_id = looked.range_id AND outcomes.seq = looked.seq
      AND outcomes.range_id BETWEEN $2 AND $3
      AND (looked.rank > outcomes.status
           OR looked.sent_at < coalesce(outcomes.sent_at, 'infinity')
           OR looked.delivered_at < coalesce(outcomes.delivered_at, 'infinity')
           OR looked.read_at < coalesce(outcomes.read_at, 'infinity')
           OR looked.failed_at < coalesce(outcomes.failed_at, 'infinity'))),
counted AS (
    UPDATE range_counters
    SET accepted = range_counters.accepted + change.accepted, sent = range_counters.sent + change.sent,
        failed = range_counters.failed + change.failed, delivered = range_counters.delivered + change.delivered,
        read = range_counters.read + change.read
    FROM (SELECT range_id,
                 count(*) FILTER (WHERE rank = 1) - count(*) FILTER (WHERE was = 1) AS accepted,
                 count(*) FILTER (WHERE rank = 2) - count(*) FILTER (WHERE was = 2) AS sent,
                 count(*) FILTER (WHERE rank = 3) - count(*) FILTER (WHERE was = 3) AS failed,
                 count(*) FILTER (WHERE rank = 4) - count(*) FILTER (WHERE was = 4) AS delivered,
                 count(*) FILTER (WHERE rank = 5) - count(*) FILTER (WHERE was = 5) AS read
          FROM looked WHERE plain AND rank > was
          GROUP BY range_id) AS change
    WHERE range_counters.range_id = change.range_id AND range_counters.range_id = ANY ($4)),
kept AS (
    INSERT INTO applying_events (received_at, wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq,
                             attempt_no, epoch, code, detail, pricing, matches_tried)
    SELECT received_at, wamid, status, to_timestamp(us / 1e6::float8), phone_number_id, recipient, installation, range_id, seq,
           attempt_no, epoch, code, detail, pricing, 0
    FROM (SELECT received_at, installation, unnest(wamids) AS wamid, unnest(statuses) AS status, unnest(status_us) AS us,
                 unnest(phone_number_ids) AS phone_number_id, unnest(recipients) AS recipient,
                 unnest(range_ids) AS range_id, unnest(seqs) AS seq, unnest(attempt_nos) AS attempt_no, unnest(epochs) AS epoch,
                 unnest(codes) AS code, unnest(details) AS detail, unnest(pricings) AS pricing
          FROM taken WHERE EXISTS (SELECT 1 FROM others)) AS whole
    -- IS TRUE makes this a look into a hash. The planner expects ten rows and would join them by a nested loop.
    WHERE ((range_id, seq) IN (SELECT range_id, seq FROM others)) IS TRUE)
SELECT (SELECT coalesce(sum(events), 0)::bigint FROM taken) AS taken,
       (SELECT count(*) FROM others) AS others,
       (SELECT note_events(array_agg(range_id), array_agg(seq), array_agg(kind), array_agg(at), array_agg(code))
        FROM (SELECT range_id, seq, kind, at, CASE WHEN kind = 3 THEN code END AS code
              FROM looked, LATERAL (VALUES (2::smallint, sent_at), (3::smallint, failed_at), (4::smallint, delivered_at),
                                           (5::smallint, read_at)) AS event (kind, at)
              WHERE plain AND rank > was AND kind > was AND at IS NOT NULL AND EXISTS (SELECT FROM subscriptions)
              ORDER BY range_id, seq, kind) AS risen) AS noted;

-- name: apply_fresh
-- Fresh recipients are claimed by the watermark and have no record: the event came before the reply was stored, or instead of
-- it, and is the evidence of acceptance. Returns how many recipients must be looked up.
WITH reduced AS (
    SELECT range_id, seq, min(attempt_no) AS attempt_no, max(attempt_no) AS last_attempt_no,
           min(epoch) AS epoch, max(status) AS rank, min(phone_number_id COLLATE "C") AS phone_number_id, min(wamid COLLATE "C") AS wamid,
           max(code) AS code, max(detail COLLATE "C") AS detail, max(pricing) AS pricing,
           min(status_at) FILTER (WHERE status = 2) AS sent_at,
           min(status_at) FILTER (WHERE status = 4) AS delivered_at,
           min(status_at) FILTER (WHERE status = 5) AS read_at,
           min(status_at) FILTER (WHERE status = 3) AS failed_at
    FROM applying_events WHERE range_id IS NOT NULL
    GROUP BY range_id, seq),
looked AS MATERIALIZED (
    SELECT reduced.*,
           CASE
               WHEN attempt_no <> last_attempt_no OR EXISTS (
                   SELECT 1 FROM pending_attempts
                   WHERE pending_attempts.range_id = reduced.range_id AND pending_attempts.seq = reduced.seq) THEN 'looked up'
               WHEN recorded.attempts = 1 AND recorded.plain THEN 'plain'
               WHEN recorded.attempts = 0 AND claimed.phone IS NOT NULL AND phone_number_id IS NOT NULL THEN 'fresh'
               ELSE 'looked up'
           END AS route
    FROM reduced
    CROSS JOIN LATERAL (
        SELECT count(*) AS attempts, bool_and(attempt_no = reduced.attempt_no AND kind = 1 AND wamid IS NOT NULL) AS plain
        FROM outcomes WHERE outcomes.range_id = reduced.range_id AND outcomes.seq = reduced.seq) AS recorded
    LEFT JOIN LATERAL (
        SELECT phone FROM ranges JOIN recipients ON recipients.range_id = ranges.range_id
        WHERE ranges.range_id = reduced.range_id AND recipients.range_id = reduced.range_id
          AND recipients.seq = reduced.seq AND recipients.seq <= ranges.claimed_through AND recipients.skip_reason IS NULL
        OFFSET 0) AS claimed ON true),
recorded AS (
    INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason, pricing,
                          sent_at, delivered_at, read_at, failed_at)
    SELECT range_id, seq, attempt_no, epoch, 1, rank, phone_number_id, wamid, code,
           CASE WHEN failed_at IS NOT NULL THEN coalesce(detail, code::text, 'failed') END, pricing,
           sent_at, delivered_at, read_at, failed_at
    FROM looked WHERE route = 'fresh' ORDER BY range_id, seq),
counted AS (
    UPDATE range_counters
    SET accepted = range_counters.accepted + change.accepted, sent = range_counters.sent + change.sent,
        failed = range_counters.failed + change.failed, delivered = range_counters.delivered + change.delivered,
        read = range_counters.read + change.read
    FROM (SELECT range_id, count(*) FILTER (WHERE rank = 1) AS accepted, count(*) FILTER (WHERE rank = 2) AS sent,
                 count(*) FILTER (WHERE rank = 3) AS failed, count(*) FILTER (WHERE rank = 4) AS delivered,
                 count(*) FILTER (WHERE rank = 5) AS read
          FROM looked WHERE route = 'fresh' GROUP BY range_id) AS change
    WHERE range_counters.range_id = change.range_id),
looked_up AS (
    INSERT INTO applying_looked_up SELECT range_id, seq FROM looked WHERE route = 'looked up' RETURNING 1)
SELECT count(*) AS looked_up,
       (SELECT note_events(array_agg(range_id), array_agg(seq), array_agg(kind), array_agg(at), array_agg(code))
        FROM (SELECT range_id, seq, kind, at, CASE WHEN kind = 3 THEN code END AS code
              FROM looked, LATERAL (VALUES (2::smallint, sent_at), (3::smallint, failed_at), (4::smallint, delivered_at),
                                           (5::smallint, read_at)) AS event (kind, at)
              WHERE route = 'fresh' AND at IS NOT NULL AND EXISTS (SELECT FROM subscriptions)
              ORDER BY range_id, seq, kind) AS risen) AS noted
FROM looked_up;

-- name: states_before
INSERT INTO applying_before SELECT recipient_states.range_id, recipient_states.seq, recipient_states.state
FROM applying_looked_up
JOIN recipient_states ON recipient_states.range_id = applying_looked_up.range_id
                     AND recipient_states.seq = applying_looked_up.seq;

-- name: record_looked_up
-- Evidence of acceptance replaces what was recorded of the attempt: a refusal only if the message was seen on a phone, a skip
-- by any status.
INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, pricing, reason,
                      sent_at, delivered_at, read_at, failed_at)
SELECT events.range_id, events.seq, events.attempt_no, min(events.epoch), 1, max(events.status),
       coalesce(min(events.phone_number_id), min(pending_attempts.phone_number_id), min(claimed.phone_number_id), ''),
       min(events.wamid), max(events.code), max(events.pricing),
       CASE WHEN bool_or(events.status = 3) THEN coalesce(max(events.detail), max(events.code)::text, 'failed') END,
       min(events.status_at) FILTER (WHERE events.status = 2), min(events.status_at) FILTER (WHERE events.status = 4),
       min(events.status_at) FILTER (WHERE events.status = 5), min(events.status_at) FILTER (WHERE events.status = 3)
FROM applying_before
JOIN applying_events AS events USING (range_id, seq)
LEFT JOIN pending_attempts ON pending_attempts.range_id = events.range_id AND pending_attempts.seq = events.seq
LEFT JOIN LATERAL (
    SELECT claims.phone_number_id FROM claims
    WHERE claims.range_id = events.range_id AND claims.from_seq <= events.seq
    ORDER BY claims.epoch = events.epoch DESC, claims.from_seq DESC LIMIT 1) AS claimed ON true
GROUP BY events.range_id, events.seq, events.attempt_no
ORDER BY events.range_id, events.seq, events.attempt_no
ON CONFLICT (range_id, seq, attempt_no) DO UPDATE
SET kind = CASE WHEN outcomes.kind = 2 AND EXCLUDED.status <= 3 THEN 2 ELSE 1 END,
    status = CASE WHEN outcomes.kind = 2 AND EXCLUDED.status <= 3 THEN NULL
                  ELSE greatest(outcomes.status, EXCLUDED.status) END,
    wamid = coalesce(outcomes.wamid, EXCLUDED.wamid),
    code = coalesce(outcomes.code, EXCLUDED.code), pricing = coalesce(EXCLUDED.pricing, outcomes.pricing),
    reason = coalesce(EXCLUDED.reason, outcomes.reason),
    sent_at = least(outcomes.sent_at, EXCLUDED.sent_at),
    delivered_at = least(outcomes.delivered_at, EXCLUDED.delivered_at),
    read_at = least(outcomes.read_at, EXCLUDED.read_at),
    failed_at = least(outcomes.failed_at, EXCLUDED.failed_at);

-- name: settle_looked_up
-- An accepted attempt settles itself and every earlier one. Unless it failed, it also settles the recipient, so that nothing
-- waits for a later attempt. A later attempt under way keeps its row until its outcome.
DELETE FROM pending_attempts
USING applying_before
WHERE pending_attempts.range_id = applying_before.range_id AND pending_attempts.seq = applying_before.seq
  AND EXISTS (SELECT 1 FROM outcomes
              WHERE outcomes.range_id = pending_attempts.range_id AND outcomes.seq = pending_attempts.seq AND outcomes.kind = 1
                AND (outcomes.attempt_no >= pending_attempts.attempt_no
                     OR (outcomes.status <> 3 AND pending_attempts.state <> 'claimed')));

-- name: count_looked_up
UPDATE range_counters
SET deferred = range_counters.deferred + change.deferred, accepted = range_counters.accepted + change.accepted,
    sent = range_counters.sent + change.sent, delivered = range_counters.delivered + change.delivered,
    read = range_counters.read + change.read, failed = range_counters.failed + change.failed,
    unknown = range_counters.unknown + change.unknown, skipped = range_counters.skipped + change.skipped
FROM (SELECT range_id,
             sum(sign) FILTER (WHERE state = 'deferred') AS deferred, sum(sign) FILTER (WHERE state = 'accepted') AS accepted,
             sum(sign) FILTER (WHERE state = 'sent') AS sent, sum(sign) FILTER (WHERE state = 'delivered') AS delivered,
             sum(sign) FILTER (WHERE state = 'read') AS read, sum(sign) FILTER (WHERE state = 'failed') AS failed,
             sum(sign) FILTER (WHERE state = 'unknown') AS unknown, sum(sign) FILTER (WHERE state = 'skipped') AS skipped
      FROM (SELECT range_id, state, -1 AS sign FROM applying_before
            UNION ALL
            SELECT recipient_states.range_id, recipient_states.state, 1
            FROM applying_before
            JOIN recipient_states ON recipient_states.range_id = applying_before.range_id
                                 AND recipient_states.seq = applying_before.seq) AS changes
      GROUP BY range_id) AS sums,
     LATERAL (SELECT coalesce(sums.deferred, 0), coalesce(sums.accepted, 0), coalesce(sums.sent, 0),
                     coalesce(sums.delivered, 0), coalesce(sums.read, 0), coalesce(sums.failed, 0),
                     coalesce(sums.unknown, 0), coalesce(sums.skipped, 0))
         AS change (deferred, accepted, sent, delivered, read, failed, unknown, skipped)
WHERE range_counters.range_id = sums.range_id;

-- name: note_looked_up
-- Tells programs what is above the state before. A state that is none of a status counts as below all of them.
SELECT note_events(array_agg(range_id), array_agg(seq), array_agg(kind), array_agg(at), array_agg(code))
FROM (SELECT events.range_id, events.seq, events.status AS kind, min(events.status_at) AS at, max(events.code) AS code
      FROM applying_before
      JOIN applying_events AS events USING (range_id, seq)
      JOIN recipient_states ON recipient_states.range_id = events.range_id AND recipient_states.seq = events.seq
      WHERE EXISTS (SELECT FROM subscriptions) AND events.status > 1
        AND events.status > coalesce(array_position(ARRAY['accepted', 'sent', 'failed', 'delivered', 'read'], applying_before.state), 0)
        AND events.status <= array_position(ARRAY['accepted', 'sent', 'failed', 'delivered', 'read'], recipient_states.state)
      GROUP BY events.range_id, events.seq, events.status
      ORDER BY events.range_id, events.seq, events.status) AS risen;

-- name: return_unmatched
-- Events that match nothing yet: the reply may be on its way, or the message is not ours. They are matched again after growing
-- waits, for $1 days. Events with another program's data are matched only $3 times: a program that shares our number may
-- cause as many as we do.
WITH nobody AS (
    SELECT range_id, seq FROM applying_looked_up EXCEPT SELECT range_id, seq FROM applying_before),
unmatched AS (
    DELETE FROM applying_events
    WHERE range_id IS NULL OR (range_id, seq) IN (SELECT range_id, seq FROM nobody)
    RETURNING *),
returned AS (
    INSERT INTO inbox (due_at, received_at, wamid, status, status_at, phone_number_id, recipient, installation,
                       range_id, seq, attempt_no, epoch, code, detail, pricing, matches_tried)
    SELECT now() + least(interval '1 hour', make_interval(secs => $2 * 2 ^ least(matches_tried, 20))) * (1 + random() / 5),
           received_at, wamid, status, status_at, phone_number_id, recipient, installation,
           range_id, seq, attempt_no, epoch, code, detail, pricing, matches_tried + 1
    FROM unmatched
    WHERE received_at > now() - make_interval(days => $1)
      AND (range_id IS NOT NULL OR installation IS NULL OR matches_tried < $3)
    RETURNING 1)
SELECT (SELECT count(*) FROM unmatched) AS unmatched, (SELECT count(*) FROM returned) AS returned;
