-- name: keep_group
-- Arrays as text: what Postgres refuses of them, it refuses here, before anybody is answered.
INSERT INTO inbox_groups (installation, events, wamids, statuses, status_us, phone_number_ids, recipients, range_ids, seqs,
                          attempt_nos, epochs, codes, details)
VALUES ($1, $2::integer, $3::text::text[], $4::text::smallint[], $5::text::bigint[], $6::text::text[], $7::text::text[],
        $8::text::bigint[], $9::text::integer[], $10::text::integer[], $11::text::bigint[], $12::text::integer[],
        $13::text::text[]);

-- name: note_flow
-- In one order, so that two receivers never wait for each other in a circle. What could not be delivered for less than the
-- five minutes of a gap, the service has repeated before a doubt counts as silent.
INSERT INTO event_flow (phone_number_id, last_event_at, flows_since)
SELECT phone_number_id, now(), now() FROM unnest($1::text[]) AS seen (phone_number_id) ORDER BY phone_number_id
ON CONFLICT (phone_number_id) DO UPDATE
SET last_event_at = greatest(event_flow.last_event_at, EXCLUDED.last_event_at),
    flows_since = CASE WHEN event_flow.last_event_at < EXCLUDED.last_event_at - interval '5 minutes'
                       THEN EXCLUDED.flows_since ELSE event_flow.flows_since END;

-- name: keep_messages
INSERT INTO incoming_messages (wamid, phone_number_id, sender, type, sent_at, body)
SELECT wamid, phone_number_id, sender, type, sent_at, body::jsonb
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[])
    AS message (wamid, phone_number_id, sender, type, sent_at, body)
ORDER BY wamid
ON CONFLICT (wamid) DO NOTHING;

-- name: keep_account_events
-- A repetition is one row. Without a time of its own, the same event after a later one about the same subject is
-- news again (paused, approved, paused): it is acted on again. What is committed together keeps its order by a microsecond;
-- the table does not show it yet, so that the later event is looked for there, too.
WITH told AS (
    SELECT *, now() + place * interval '1 microsecond' AS received_at
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
        WITH ORDINALITY AS event (event_key, field, value, subject, occurred_at, place))
INSERT INTO account_events AS kept (event_key, field, value, subject, occurred_at, received_at)
SELECT DISTINCT ON (event_key) event_key, field, value::jsonb, subject, occurred_at, received_at
FROM told
ORDER BY event_key, received_at DESC
ON CONFLICT (event_key) DO UPDATE SET received_at = EXCLUDED.received_at, acted_at = NULL
WHERE kept.occurred_at IS NULL
  AND (EXISTS (SELECT 1 FROM account_events AS later
               WHERE later.subject = kept.subject AND later.received_at > kept.received_at)
       OR EXISTS (SELECT 1 FROM told
                  WHERE told.subject = kept.subject AND told.event_key <> kept.event_key
                    AND told.received_at < EXCLUDED.received_at));

-- name: keep_unreadable
INSERT INTO unreadable_events (event_key, body, problem)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[]) AS part (event_key, body, problem) ORDER BY event_key
ON CONFLICT (event_key) DO NOTHING;

-- name: suppress
-- Who asked for silence, told after the message was accepted. In one order, as imports of the list do it.
WITH told AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::integer[], $4::bigint[]) AS told (installation, range_id, seq, phone))
INSERT INTO suppressions (phone, reason)
SELECT phone, 'asked for silence (131050)'
FROM (SELECT phone FROM told WHERE phone IS NOT NULL
      UNION
      SELECT written.phone
      FROM told, LATERAL (SELECT phone FROM recipients
                          WHERE recipients.range_id = told.range_id AND recipients.seq = told.seq OFFSET 0) AS written
      WHERE told.installation = (SELECT installation FROM installation)) AS silent
ORDER BY phone
ON CONFLICT (phone) DO NOTHING;

-- name: act_lock
-- One actor at a time, so that events about one subject are acted on in their order.
SELECT pg_try_advisory_xact_lock(hashtextextended('drumbeat.act', 0));

-- name: to_act
-- stale: the service itself dates a later event about the same.
SELECT event_key, field, value,
       EXISTS (SELECT 1 FROM account_events AS later
               WHERE later.subject = account_events.subject AND later.occurred_at > account_events.occurred_at) AS stale
FROM account_events WHERE acted_at IS NULL ORDER BY received_at, occurred_at LIMIT 1 FOR UPDATE;

-- name: acted
UPDATE account_events SET acted_at = now() WHERE event_key = $1;

-- name: set_template_status
UPDATE templates SET status = $3 WHERE name = $1 AND language = $2;

-- name: refresh_number
-- What the event says is taken at once; synced_at NULL asks for the rest to be read again.
UPDATE numbers SET messaging_limit_tier = coalesce($2, messaging_limit_tier), synced_at = NULL
WHERE regexp_replace(display_phone_number, '\D', '', 'g') = $1;

-- name: refresh_numbers
UPDATE numbers SET synced_at = NULL
WHERE phone_number_id IN (SELECT phone_number_id FROM numbers ORDER BY phone_number_id FOR UPDATE);
