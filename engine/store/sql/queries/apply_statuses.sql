-- name: create_workspace
-- What a batch cannot fold at once: events without our tag, and those of recipients that are not plain. Emptied by
-- every commit.
CREATE TEMP TABLE IF NOT EXISTS fold_events (
    received_at timestamptz NOT NULL, wamid text NOT NULL, status smallint NOT NULL, status_at timestamptz NOT NULL,
    phone_number_id text, recipient text, installation text, range_id bigint, seq integer, attempt_no integer, epoch bigint,
    code integer, detail text, matches_tried integer NOT NULL, by_pair boolean NOT NULL DEFAULT false
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS fold_slow (
    range_id bigint NOT NULL, seq integer NOT NULL
) ON COMMIT DELETE ROWS;
CREATE TEMP TABLE IF NOT EXISTS fold_before (
    range_id bigint NOT NULL, seq integer NOT NULL, state text NOT NULL
) ON COMMIT DELETE ROWS;

-- name: begin_fold
-- Two folders would only wait for each other. Losing this lock loses nothing: the delete decides who has an event.
-- Pages cost next to nothing in its plans, so that what can goes by place or by key: else a plan that is kept from days of
-- small tables, or made by statistics of those days, reads all between the first and the last range.
SELECT pg_try_advisory_xact_lock(hashtextextended('drumbeat.fold', 0)) AS alone,
       set_config('random_page_cost', '0.001', true),
       to_regclass('pg_temp.fold_before') IS NOT NULL AS has_workspace;

-- name: due
-- The oldest groups of events: which carry our tags, of which ranges, and which do not; and whether events of their own
-- are due.
WITH head AS MATERIALIZED (
    SELECT group_id, events, range_ids, installation IS NOT DISTINCT FROM (SELECT installation FROM installation) AS ours
    FROM inbox_groups WHERE group_id = ANY ((SELECT oldest_groups($1))::bigint[]))
SELECT coalesce(sum(events), 0)::bigint AS events,
       coalesce(array_agg(group_id) FILTER (WHERE ours), '{}') AS tagged,
       coalesce(array_agg(group_id) FILTER (WHERE NOT ours), '{}') AS others,
       ARRAY(SELECT DISTINCT unnest(range_ids) FROM head WHERE ours) AS range_ids,
       EXISTS (SELECT 1 FROM inbox WHERE due_at <= now()) AS singles
FROM head;

-- name: take_others
-- Groups without our tags ($1), and up to $2 events that wait by themselves, the longest due first.
-- Delete-and-return, here and below: no cursor over ids, so an event that is committed late is never skipped.
WITH groups AS (
    DELETE FROM inbox_groups WHERE group_id = ANY ($1)
    RETURNING received_at, installation, wamids, statuses, status_us, phone_number_ids, recipients, codes, details),
singles AS (
    DELETE FROM inbox
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM inbox WHERE due_at <= now() ORDER BY due_at LIMIT $2))
    RETURNING received_at, wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq, attempt_no, epoch,
              code, detail, matches_tried, installation IS NOT DISTINCT FROM (SELECT installation FROM installation) AS ours),
kept AS (
    INSERT INTO fold_events (received_at, wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq,
                             attempt_no, epoch, code, detail, matches_tried)
    SELECT received_at, wamid, status, status_at, phone_number_id, recipient, installation,
           CASE WHEN ours THEN range_id END, CASE WHEN ours THEN seq END, CASE WHEN ours THEN attempt_no END,
           CASE WHEN ours THEN epoch END, code, detail, matches_tried
    FROM singles
    UNION ALL
    SELECT received_at, wamid, status, to_timestamp(us / 1e6::float8), phone_number_id, recipient, installation,
           NULL, NULL, NULL, NULL, code, detail, 0
    FROM (SELECT received_at, installation, unnest(wamids) AS wamid, unnest(statuses) AS status, unnest(status_us) AS us,
                 unnest(phone_number_ids) AS phone_number_id, unnest(recipients) AS recipient, unnest(codes) AS code,
                 unnest(details) AS detail
          FROM groups) AS events
    RETURNING 1)
SELECT count(*) FROM kept;

-- name: match_wamids
-- One look by key for each event: statistics may be older than the rows, and a join would then read all outcomes.
UPDATE fold_events
SET (range_id, seq, attempt_no, epoch) = (
    SELECT range_id, seq, attempt_no, epoch FROM outcomes
    WHERE hashtextextended(outcomes.wamid, 0) = hashtextextended(fold_events.wamid, 0)
      AND outcomes.wamid = fold_events.wamid
    LIMIT 1)
WHERE range_id IS NULL;

-- name: unmatched_of_doubtful_numbers
-- Events that carried no opaque data, of numbers that have doubts.
SELECT DISTINCT phone_number_id, recipient FROM fold_events
WHERE range_id IS NULL AND installation IS NULL AND recipient IS NOT NULL
  AND EXISTS (SELECT 1 FROM pending_attempts
              WHERE pending_attempts.phone_number_id = fold_events.phone_number_id AND pending_attempts.state = 'unknown');

-- name: match_pairs
-- An event without a tag settles a doubt only if it can be about nothing else: one doubt of that number and
-- recipient over all campaigns, none that is to be sent again, every other attempt of the pair has a recorded outcome with
-- its wamid, one such message among the events, and the doubt was claimed before the event (a minute for clocks that differ).
-- All in one snapshot with the look for the wamid: an outcome stored in between must not make a doubt the only one.
WITH spelled AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) AS pair (phone_number_id, recipient, phone)),
doubts AS (
    SELECT spelled.phone_number_id, spelled.recipient, pending_attempts.range_id, pending_attempts.seq, pending_attempts.attempt_no,
           pending_attempts.epoch, count(*) OVER (PARTITION BY spelled.phone_number_id, spelled.recipient) AS candidates
    FROM spelled
    JOIN pending_attempts ON pending_attempts.phone_number_id = spelled.phone_number_id AND pending_attempts.state = 'unknown'
    JOIN recipients ON recipients.range_id = pending_attempts.range_id AND recipients.seq = pending_attempts.seq
                   AND recipients.phone = spelled.phone),
sole AS (
    SELECT doubts.*, claimed.claimed_at FROM doubts
    LEFT JOIN LATERAL (
        SELECT claims.claimed_at FROM claims
        WHERE claims.range_id = doubts.range_id AND claims.from_seq <= doubts.seq
          AND claims.epoch = doubts.epoch
        ORDER BY claims.from_seq DESC LIMIT 1) AS claimed ON true
    WHERE doubts.candidates = 1
      AND NOT EXISTS (
          SELECT 1 FROM spelled
          JOIN pending_attempts ON pending_attempts.phone_number_id = spelled.phone_number_id
                         AND (pending_attempts.state = 'claimed' OR pending_attempts.state = 'deferred' AND pending_attempts.reason = 'resend')
          JOIN recipients ON recipients.range_id = pending_attempts.range_id AND recipients.seq = pending_attempts.seq
                         AND recipients.phone = spelled.phone
          WHERE spelled.phone_number_id = doubts.phone_number_id AND spelled.recipient = doubts.recipient)
      AND NOT EXISTS (
          SELECT 1 FROM spelled
          JOIN outcomes ON outcomes.phone_number_id = spelled.phone_number_id AND outcomes.kind = 1
                       AND outcomes.wamid IS NULL
          JOIN recipients ON recipients.range_id = outcomes.range_id AND recipients.seq = outcomes.seq
                         AND recipients.phone = spelled.phone
          WHERE spelled.phone_number_id = doubts.phone_number_id AND spelled.recipient = doubts.recipient)
      AND NOT EXISTS (
          SELECT 1 FROM spelled
          JOIN ranges ON ranges.phone_number_id = spelled.phone_number_id
          JOIN recipients ON recipients.range_id = ranges.range_id AND recipients.seq <= ranges.claimed_through
                         AND recipients.phone = spelled.phone AND recipients.skip_reason IS NULL
          WHERE spelled.phone_number_id = doubts.phone_number_id AND spelled.recipient = doubts.recipient
            AND NOT EXISTS (SELECT 1 FROM outcomes
                            WHERE outcomes.range_id = recipients.range_id AND outcomes.seq = recipients.seq)
            AND NOT EXISTS (SELECT 1 FROM pending_attempts
                            WHERE pending_attempts.range_id = recipients.range_id AND pending_attempts.seq = recipients.seq))),
messages AS (
    SELECT phone_number_id, recipient, min(wamid) AS wamid, min(status_at) AS first_at FROM fold_events
    WHERE range_id IS NULL AND installation IS NULL
    GROUP BY phone_number_id, recipient HAVING min(wamid) = max(wamid))
UPDATE fold_events
SET range_id = sole.range_id, seq = sole.seq, attempt_no = sole.attempt_no, epoch = sole.epoch, by_pair = true
FROM sole JOIN messages USING (phone_number_id, recipient)
WHERE fold_events.range_id IS NULL AND fold_events.wamid = messages.wamid
  AND (sole.claimed_at IS NULL OR messages.first_at > sole.claimed_at - interval '1 minute')
  AND NOT EXISTS (SELECT 1 FROM outcomes
                  WHERE hashtextextended(outcomes.wamid, 0) = hashtextextended(messages.wamid, 0)
                    AND outcomes.wamid = messages.wamid
                  OFFSET 0);

-- name: lock_range_counters
-- The fact side's lock, in range order: from here no other writer of facts changes these ranges. Returns them and their
-- bounds.
SELECT min(range_id) AS first_range_id, max(range_id) AS last_range_id, array_agg(range_id) AS range_ids FROM (
    SELECT range_id FROM range_counters
    WHERE range_id IN (SELECT unnest($1::bigint[]) UNION SELECT range_id FROM fold_events)
    ORDER BY range_id FOR UPDATE) AS locked;

-- name: drop_settled_pairs
-- A doubt that was settled or reopened before we had the lock is no longer a candidate.
UPDATE fold_events SET range_id = NULL, by_pair = false
WHERE by_pair AND NOT EXISTS (
    SELECT 1 FROM pending_attempts
    WHERE pending_attempts.range_id = fold_events.range_id AND pending_attempts.seq = fold_events.seq
      AND pending_attempts.attempt_no = fold_events.attempt_no AND pending_attempts.state = 'unknown');

-- name: fold_plain
-- Takes groups of events, $1, whose ranges are locked, and writes what they say of plain recipients, those whose only
-- recorded try is this accepted one. All tries of a recipient lie side by side in the key: one look finds this one
-- and the others. In the key's order, so that looks and updates walk index and pages forward. OFFSET 0 keeps it a look
-- by key: the planner does not know how few are asked for. The row that was looked at is written by its place, which
-- cannot change under the lock: a second look by key would cost as much as the first; the list of all places lets the
-- planner go by place without a look for each. Events of all other recipients are laid aside whole; of the
-- plain ones only what is needed is carried along. The bounds of the locked ranges, $2 and $3, choose the partitions once:
-- with seven of them, choosing anew for each recipient costs a tenth. $4, these ranges, bound what is read of pending_attempts,
-- once, into a hash, and of range counters.
WITH taken AS (
    DELETE FROM inbox_groups WHERE group_id = ANY ($1)
    RETURNING received_at, installation, events, range_ids, seqs, attempt_nos, epochs, statuses, status_us, wamids,
              phone_number_ids, recipients, codes, details),
looked AS MATERIALIZED (
    SELECT events.range_id, events.seq, max(events.status) AS rank,
           to_timestamp(min(us) FILTER (WHERE events.status = 2) / 1e6::float8) AS sent_at,
           to_timestamp(min(us) FILTER (WHERE events.status = 4) / 1e6::float8) AS delivered_at,
           to_timestamp(min(us) FILTER (WHERE events.status = 5) / 1e6::float8) AS read_at,
           to_timestamp(min(us) FILTER (WHERE events.status = 3) / 1e6::float8) AS failed_at,
           max(code) AS code, max(detail COLLATE "C") AS detail, min(recorded.status) AS was, min(recorded.place) AS place,
           coalesce(bool_and(recorded.attempt_no = events.attempt_no AND recorded.kind = 1 AND recorded.named), false)
               AND (events.range_id, events.seq) NOT IN (
                   SELECT range_id, seq FROM pending_attempts
                   WHERE range_id = ANY ($4) AND range_id BETWEEN $2 AND $3) AS plain
    FROM (SELECT unnest(range_ids) AS range_id, unnest(seqs) AS seq, unnest(attempt_nos) AS attempt_no, unnest(statuses) AS status,
                 unnest(status_us) AS us, unnest(codes) AS code, unnest(details) AS detail
          FROM taken
          UNION ALL
          SELECT range_id, seq, attempt_no, status, (extract(epoch FROM status_at) * 1000000)::bigint, code, detail
          FROM fold_events WHERE range_id IS NOT NULL
          ORDER BY range_id, seq) AS events
    LEFT JOIN LATERAL (
        SELECT attempt_no, kind, status, wamid IS NOT NULL AS named, outcomes.ctid AS place FROM outcomes
        WHERE outcomes.range_id = events.range_id AND outcomes.seq = events.seq
          AND outcomes.range_id BETWEEN $2 AND $3 OFFSET 0) AS recorded ON true
    GROUP BY events.range_id, events.seq),
others AS MATERIALIZED (SELECT range_id, seq FROM looked WHERE NOT plain),
written AS (
    -- By primary key and within the page (HOT); what a duplicate would write again is not written.
    UPDATE outcomes
    SET status = greatest(outcomes.status, looked.rank),
        sent_at = least(outcomes.sent_at, looked.sent_at),
        delivered_at = least(outcomes.delivered_at, looked.delivered_at),
        read_at = least(outcomes.read_at, looked.read_at),
        failed_at = least(outcomes.failed_at, looked.failed_at),
        code = coalesce(outcomes.code, looked.code),
        reason = CASE WHEN looked.failed_at IS NULL THEN outcomes.reason
                      ELSE coalesce(looked.detail, looked.code::text, outcomes.reason, 'failed') END
    FROM looked
    WHERE looked.plain
      AND outcomes.ctid = ANY (ARRAY(SELECT place FROM looked WHERE plain))
      AND outcomes.ctid = looked.place AND outcomes.range_id = looked.range_id AND outcomes.seq = looked.seq
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
laid_aside AS (
    INSERT INTO fold_events (received_at, wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq,
                             attempt_no, epoch, code, detail, matches_tried)
    SELECT received_at, wamid, status, to_timestamp(us / 1e6::float8), phone_number_id, recipient, installation, range_id, seq,
           attempt_no, epoch, code, detail, 0
    FROM (SELECT received_at, installation, unnest(wamids) AS wamid, unnest(statuses) AS status, unnest(status_us) AS us,
                 unnest(phone_number_ids) AS phone_number_id, unnest(recipients) AS recipient,
                 unnest(range_ids) AS range_id, unnest(seqs) AS seq, unnest(attempt_nos) AS attempt_no, unnest(epochs) AS epoch,
                 unnest(codes) AS code, unnest(details) AS detail
          FROM taken WHERE EXISTS (SELECT 1 FROM others)) AS whole
    -- IS TRUE makes this a look into a hash: as a join of what seems to be ten rows it would be a nested loop.
    WHERE ((range_id, seq) IN (SELECT range_id, seq FROM others)) IS TRUE)
SELECT (SELECT coalesce(sum(events), 0)::bigint FROM taken) AS taken,
       (SELECT count(*) FROM others) AS others;

-- name: fold_fresh
-- Fresh: claimed by the watermark, nothing recorded yet. The event came before the reply was stored, or instead of it: it is
-- the evidence of acceptance. Returns how many are slow: everything else is looked up before and after.
WITH reduced AS (
    SELECT range_id, seq, min(attempt_no) AS attempt_no, max(attempt_no) AS last_try, min(epoch) AS epoch, max(status) AS rank,
           min(phone_number_id COLLATE "C") AS phone_number_id, min(wamid COLLATE "C") AS wamid,
           max(code) AS code, max(detail COLLATE "C") AS detail,
           min(status_at) FILTER (WHERE status = 2) AS sent_at,
           min(status_at) FILTER (WHERE status = 4) AS delivered_at,
           min(status_at) FILTER (WHERE status = 5) AS read_at,
           min(status_at) FILTER (WHERE status = 3) AS failed_at
    FROM fold_events WHERE range_id IS NOT NULL
    GROUP BY range_id, seq),
looked AS MATERIALIZED (
    SELECT reduced.*,
           CASE
               WHEN attempt_no <> last_try OR EXISTS (
                   SELECT 1 FROM pending_attempts
                   WHERE pending_attempts.range_id = reduced.range_id AND pending_attempts.seq = reduced.seq) THEN 'slow'
               WHEN recorded.attempt_nos = 1 AND recorded.plain THEN 'plain'
               WHEN recorded.attempt_nos = 0 AND claimed.phone IS NOT NULL AND phone_number_id IS NOT NULL THEN 'fresh'
               ELSE 'slow'
           END AS route
    FROM reduced
    CROSS JOIN LATERAL (
        SELECT count(*) AS attempt_nos, bool_and(attempt_no = reduced.attempt_no AND kind = 1 AND wamid IS NOT NULL) AS plain
        FROM outcomes WHERE outcomes.range_id = reduced.range_id AND outcomes.seq = reduced.seq) AS recorded
    LEFT JOIN LATERAL (
        SELECT phone FROM ranges JOIN recipients ON recipients.range_id = ranges.range_id
        WHERE ranges.range_id = reduced.range_id AND recipients.range_id = reduced.range_id
          AND recipients.seq = reduced.seq AND recipients.seq <= ranges.claimed_through AND recipients.skip_reason IS NULL
        OFFSET 0) AS claimed ON true),
recorded AS (
    INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason,
                          sent_at, delivered_at, read_at, failed_at)
    SELECT range_id, seq, attempt_no, epoch, 1, rank, phone_number_id, wamid, code,
           CASE WHEN failed_at IS NOT NULL THEN coalesce(detail, code::text, 'failed') END,
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
slow AS (
    INSERT INTO fold_slow SELECT range_id, seq FROM looked WHERE route = 'slow'
    RETURNING 1)
SELECT count(*) FROM slow;

-- name: states_before
INSERT INTO fold_before
SELECT recipient_states.range_id, recipient_states.seq, recipient_states.state
FROM fold_slow
JOIN recipient_states ON recipient_states.range_id = fold_slow.range_id AND recipient_states.seq = fold_slow.seq;

-- name: record_slow
-- Evidence of acceptance outlives what we thought of the attempt: a refusal only gives way to what was seen on a phone,
-- a skip to any status.
INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason,
                      sent_at, delivered_at, read_at, failed_at)
SELECT events.range_id, events.seq, events.attempt_no, min(events.epoch), 1, max(events.status),
       coalesce(min(events.phone_number_id), min(pending_attempts.phone_number_id), min(claimed.phone_number_id), ''),
       min(events.wamid), max(events.code),
       CASE WHEN bool_or(events.status = 3) THEN coalesce(max(events.detail), max(events.code)::text, 'failed') END,
       min(events.status_at) FILTER (WHERE events.status = 2), min(events.status_at) FILTER (WHERE events.status = 4),
       min(events.status_at) FILTER (WHERE events.status = 5), min(events.status_at) FILTER (WHERE events.status = 3)
FROM fold_before
JOIN fold_events AS events USING (range_id, seq)
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
    code = coalesce(outcomes.code, EXCLUDED.code),
    reason = coalesce(EXCLUDED.reason, outcomes.reason),
    sent_at = least(outcomes.sent_at, EXCLUDED.sent_at),
    delivered_at = least(outcomes.delivered_at, EXCLUDED.delivered_at),
    read_at = least(outcomes.read_at, EXCLUDED.read_at),
    failed_at = least(outcomes.failed_at, EXCLUDED.failed_at);

-- name: close_slow
-- An accepted try settles itself whatever it was thought to be, and every earlier one; unless it failed it also
-- settles the recipient, so nothing waits for a later attempt. A later attempt under way keeps its row until its outcome.
DELETE FROM pending_attempts
USING fold_before
WHERE pending_attempts.range_id = fold_before.range_id AND pending_attempts.seq = fold_before.seq
  AND EXISTS (SELECT 1 FROM outcomes
              WHERE outcomes.range_id = pending_attempts.range_id AND outcomes.seq = pending_attempts.seq AND outcomes.kind = 1
                AND (outcomes.attempt_no >= pending_attempts.attempt_no
                     OR (outcomes.status <> 3 AND pending_attempts.state <> 'claimed')));

-- name: count_slow_changes
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
      FROM (SELECT range_id, state, -1 AS sign FROM fold_before
            UNION ALL
            SELECT recipient_states.range_id, recipient_states.state, 1
            FROM fold_before
            JOIN recipient_states ON recipient_states.range_id = fold_before.range_id
                                 AND recipient_states.seq = fold_before.seq) AS changes
      GROUP BY range_id) AS sums,
     LATERAL (SELECT coalesce(sums.deferred, 0), coalesce(sums.accepted, 0), coalesce(sums.sent, 0),
                     coalesce(sums.delivered, 0), coalesce(sums.read, 0), coalesce(sums.failed, 0),
                     coalesce(sums.unknown, 0), coalesce(sums.skipped, 0))
         AS change (deferred, accepted, sent, delivered, read, failed, unknown, skipped)
WHERE range_counters.range_id = sums.range_id;

-- name: return_unmatched
-- Events that match nothing yet: the reply may be on its way, or the message is not ours. Tried again with growing waits,
-- then dropped; events with data that is not ours only $3 times, because a program that shares our number may send as much.
WITH nobody AS (
    SELECT range_id, seq FROM fold_slow
    EXCEPT SELECT range_id, seq FROM fold_before),
unmatched AS (
    DELETE FROM fold_events
    WHERE range_id IS NULL OR (range_id, seq) IN (SELECT range_id, seq FROM nobody)
    RETURNING *),
returned AS (
    INSERT INTO inbox (due_at, received_at, wamid, status, status_at, phone_number_id, recipient, installation,
                       range_id, seq, attempt_no, epoch, code, detail, matches_tried)
    SELECT now() + least(interval '1 hour', make_interval(secs => $2 * 2 ^ least(matches_tried, 20))) * (1 + random() / 5),
           received_at, wamid, status, status_at, phone_number_id, recipient, installation,
           range_id, seq, attempt_no, epoch, code, detail, matches_tried + 1
    FROM unmatched
    WHERE received_at > now() - make_interval(days => $1)
      AND (range_id IS NOT NULL OR installation IS NULL OR matches_tried < $3)
    RETURNING 1)
SELECT (SELECT count(*) FROM unmatched) AS unmatched, (SELECT count(*) FROM returned) AS returned;
