-- The events that the receiver stores, and the actions on account events.

-- name: keep_group
-- Arrays come as text. Postgres refuses a wrong element here, before the service gets its 200.
INSERT INTO inbox_groups (installation, events, wamids, statuses, status_us, phone_number_ids, recipients, range_ids, seqs,
                          attempt_nos, epochs, codes, details, pricings)
VALUES ($1, $2::integer, $3::text::text[], $4::text::smallint[], $5::text::bigint[], $6::text::text[], $7::text::text[],
        $8::text::bigint[], $9::text::integer[], $10::text::integer[], $11::text::bigint[], $12::text::integer[],
        $13::text::text[], $14::text::smallint[]);

-- name: our_numbers
-- Empty if none was ever read from the service.
SELECT coalesce(array_agg(phone_number_id), '{}') FROM numbers;

-- name: note_flow
-- Written in the order of the key, so that two receivers cannot deadlock. A gap is five minutes without an event of the number.
-- The service repeats what it could not deliver for less than that before an attempt in doubt counts as probably not sent.
INSERT INTO event_flow (phone_number_id, last_event_at, flows_since)
SELECT phone_number_id, now(), now() FROM unnest($1::text[]) AS seen (phone_number_id) ORDER BY phone_number_id
ON CONFLICT (phone_number_id) DO UPDATE
SET last_event_at = greatest(event_flow.last_event_at, EXCLUDED.last_event_at),
    flows_since = CASE WHEN event_flow.last_event_at < EXCLUDED.last_event_at - interval '5 minutes'
                       THEN EXCLUDED.flows_since ELSE event_flow.flows_since END;

-- name: keep_messages
-- wait_s is set if the sender is no phone. The sender is then looked for again after this time.
INSERT INTO incoming_messages (wamid, phone_number_id, sender, type, sent_at, body, due_at)
SELECT wamid, phone_number_id, sender, type, sent_at, body::jsonb, now() + make_interval(secs => wait_s)
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::float8[])
    AS message (wamid, phone_number_id, sender, type, sent_at, body, wait_s)
ORDER BY wamid
ON CONFLICT (wamid) DO NOTHING
RETURNING wamid;

-- name: keep_account_events
-- A repeated event is one row. If an event has no time of its own and comes again after another event about its subject
-- (paused, approved, paused), it is new: it is acted on again. Events that are committed together keep their order by a
-- microsecond each. The table does not show them yet, so the other event is looked for among them too.
WITH arrived AS (
    SELECT *, now() + position * interval '1 microsecond' AS received_at
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
        WITH ORDINALITY AS event (event_key, field, value, subject, occurred_at, position))
INSERT INTO account_events AS kept (event_key, field, value, subject, occurred_at, received_at)
SELECT DISTINCT ON (event_key) event_key, field, value::jsonb, subject, occurred_at, received_at
FROM arrived
ORDER BY event_key, received_at DESC
ON CONFLICT (event_key) DO UPDATE SET received_at = EXCLUDED.received_at, acted_at = NULL
WHERE kept.occurred_at IS NULL
  AND (EXISTS (SELECT 1 FROM account_events AS later
               WHERE later.subject = kept.subject AND later.received_at > kept.received_at)
       OR EXISTS (SELECT 1 FROM arrived
                  WHERE arrived.subject = kept.subject AND arrived.event_key <> kept.event_key
                    AND arrived.received_at < EXCLUDED.received_at));

-- name: keep_unreadable
INSERT INTO unreadable_events (event_key, body, problem, phone_number_id)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[], $4::text[]) AS part (event_key, body, problem, phone_number_id)
ORDER BY event_key
ON CONFLICT (event_key) DO NOTHING;

-- name: set_aside
-- Events that could not be read, by their keys. Those of unknown numbers wait for their number.
SELECT event_key FROM unreadable_events
WHERE event_key > $1 AND received_at <= $2 AND phone_number_id IS NULL
ORDER BY event_key
LIMIT $3;

-- name: lock_set_aside
SELECT body, received_at FROM unreadable_events WHERE event_key = $1 FOR UPDATE SKIP LOCKED;

-- name: delete_set_aside
DELETE FROM unreadable_events WHERE event_key = $1;

-- name: set_aside_again
-- It still cannot be read: it keeps the time at which it came.
UPDATE unreadable_events SET received_at = $2 WHERE event_key = $1 RETURNING problem;

-- name: add_refusals
WITH forgotten AS (DELETE FROM callback_refusals WHERE minute < now() - interval '1 day')
INSERT INTO callback_refusals AS kept (reason, minute, refused)
SELECT reason, date_trunc('minute', now()), refused FROM unnest($1::text[], $2::bigint[]) AS counted (reason, refused)
ORDER BY reason
ON CONFLICT (reason, minute) DO UPDATE SET refused = kept.refused + EXCLUDED.refused;

-- name: act_lock
-- One process at a time, so that events about one subject are acted on in their order.
SELECT pg_try_advisory_xact_lock(hashtextextended('drumbeat.act', 0));

-- name: to_act
-- stale: the service gave another event about the same subject a later time.
SELECT event_key, field, value,
       EXISTS (SELECT 1 FROM account_events AS later
               WHERE later.subject = account_events.subject AND later.occurred_at > account_events.occurred_at) AS stale
FROM account_events WHERE acted_at IS NULL ORDER BY received_at, occurred_at LIMIT 1 FOR UPDATE;

-- name: acted
UPDATE account_events SET acted_at = now() WHERE event_key = $1;

-- name: set_template_status
-- $3 NULL: the status stays, and so does its reason. The event may follow a change of its text, so campaigns are compared
-- with it.
UPDATE templates
SET status = coalesce($3, status), status_reason = CASE WHEN $3::text IS NULL THEN status_reason ELSE $4 END, compare_at = now()
WHERE name = $1 AND language = $2;

-- name: note_template_change
UPDATE templates SET compare_at = now() WHERE name = $1 AND language = $2;

-- name: refresh_number
-- The tier is taken from the event. $3: the same if it is understood, else NULL; it ends a rest for the former one.
-- synced_at NULL asks for the other facts to be read from the service.
UPDATE numbers
SET messaging_limit_tier = coalesce($2, messaging_limit_tier), known_tier = coalesce($3, known_tier), synced_at = NULL,
    suspended_until = CASE WHEN rests_for_quota AND known_tier IS DISTINCT FROM coalesce($3, known_tier) THEN NULL
                           ELSE suspended_until END
WHERE regexp_replace(display_phone_number, '\D', '', 'g') = $1;

-- name: refresh_numbers
UPDATE numbers SET synced_at = NULL
WHERE phone_number_id IN (SELECT phone_number_id FROM numbers ORDER BY phone_number_id FOR UPDATE);
