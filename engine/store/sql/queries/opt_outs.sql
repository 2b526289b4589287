-- The people who opt out, or take that back: by a message, by the app's menu, or by what the service says of them. Every session
-- adds to the list in the order of its key, so that two sessions cannot deadlock.

-- name: lock
-- One receiver at a time: an event that takes something back must see one that opts out at the same moment.
SELECT pg_advisory_xact_lock(hashtextextended('drumbeat.opt_outs', 0));

-- name: suppress_senders
-- People who opted out by a message. A phone that is listed because of the app's menu is listed for both from now on.
INSERT INTO suppressions (phone, reason, source)
SELECT DISTINCT ON (phone) phone, reason, source
FROM unnest($1::bigint[], $2::text[], $3::text[]) AS opted_out (phone, reason, source) ORDER BY phone
ON CONFLICT (phone) DO UPDATE SET reason = EXCLUDED.reason, source = EXCLUDED.source
WHERE suppressions.source = 'service' AND suppressions.by_preference;

-- name: messages_since
-- The messages that these people wrote at a time or later, each with the position of the person, from 1.
SELECT asked.position, message.sent_at, message.body
FROM unnest($1::text[], $2::timestamptz[]) WITH ORDINALITY AS asked (senders, sent_at, position)
CROSS JOIN LATERAL (
    SELECT incoming_messages.sent_at, body FROM incoming_messages
    WHERE sender = ANY (string_to_array(asked.senders, ',')) AND incoming_messages.sent_at >= asked.sent_at OFFSET 0) AS message;

-- name: take_back_words
WITH kept AS (
    UPDATE suppressions SET reason = $2, source = 'service'
    WHERE phone = ANY ($1::bigint[]) AND source IN ('word', 'button') AND by_preference
    RETURNING phone),
removed AS (
    DELETE FROM suppressions WHERE phone = ANY ($1::bigint[]) AND source IN ('word', 'button') AND NOT by_preference
    RETURNING phone)
SELECT phone FROM kept UNION ALL SELECT phone FROM removed;

-- name: audit_words
INSERT INTO audit (actor, action, detail) SELECT 'recipient', $1, detail FROM unnest($2::jsonb[]) AS detail;

-- name: audit_service
INSERT INTO audit (actor, action, detail) VALUES ('service', $1, $2);

-- name: keep_events
-- Returns those that were not stored before. $7, the installation of the tag, tells our tags from others. A choice without a
-- time has the same key each time (only then is the time of a repetition later). It is new if the person chose the other in
-- between; an account event without a time counts in the same way.
INSERT INTO opt_out_events (event_key, kind, phone, wamid, range_id, seq, category, new_phone, occurred_at, matches_tried, user_id)
SELECT DISTINCT ON (event_key) event_key, kind, phone, wamid, CASE WHEN ours THEN range_id END, CASE WHEN ours THEN seq END,
       category, new_phone, occurred_at, matches_tried, user_id
FROM (SELECT *, tag_of = (SELECT installation FROM installation) AS ours
      FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::integer[], $7::text[], $8::text[], $9::bigint[],
                  $10::timestamptz[], $11::integer[], $12::text[])
          AS event (event_key, kind, phone, wamid, range_id, seq, tag_of, category, new_phone, occurred_at, matches_tried, user_id))
     AS given
ORDER BY event_key
ON CONFLICT (event_key) DO UPDATE SET occurred_at = EXCLUDED.occurred_at, received_at = EXCLUDED.received_at
WHERE opt_out_events.kind IN ('stop', 'resume') AND opt_out_events.occurred_at < EXCLUDED.occurred_at
  AND EXISTS (SELECT FROM opt_out_events AS other
              WHERE (other.phone = ANY (phone_spellings(opt_out_events.phone)::bigint[]) OR other.user_id = opt_out_events.user_id)
                AND other.kind IN ('stop', 'resume')
                AND other.kind <> opt_out_events.kind AND other.category = opt_out_events.category
                AND other.occurred_at >= opt_out_events.occurred_at)
RETURNING event_key;

-- name: due_events
SELECT event_key FROM opt_out_events WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED;

-- name: people_of_events
-- Each event with every known phone of its person: the named one, that of the id, and the recipients of our tag and our message.
SELECT event_key, kind, category, matches_tried,
       wamid IS NOT NULL AND received_at > now() - make_interval(days => $2) AS hopeful,
       ARRAY(SELECT event.phone WHERE event.phone > 0
             UNION
             SELECT phone FROM person_ids WHERE person_ids.user_id = event.user_id
             UNION
             SELECT phone FROM (SELECT recipients.phone FROM recipients
                                WHERE recipients.range_id = event.range_id AND recipients.seq = event.seq OFFSET 0) AS tagged
             WHERE phone > 0
             UNION
             SELECT phone FROM (SELECT recipients.phone FROM outcomes JOIN recipients USING (range_id, seq)
                                WHERE hashtextextended(outcomes.wamid, 0) = hashtextextended(event.wamid, 0)
                                  AND outcomes.wamid = event.wamid OFFSET 0) AS sent
             WHERE phone > 0) AS phones
FROM opt_out_events AS event WHERE event_key = ANY ($1::text[])
ORDER BY occurred_at, event_key;

-- name: note_people
-- The person is known now, or is looked for again at due_at.
UPDATE opt_out_events
SET phone = coalesce(opt_out_events.phone, found.phone),
    user_id = CASE WHEN found.phone IS NULL THEN opt_out_events.user_id END, matches_tried = opt_out_events.matches_tried + 1,
    due_at = now() + make_interval(secs => found.wait_s)
FROM unnest($1::text[], $2::bigint[], $3::float8[]) AS found (event_key, phone, wait_s)
WHERE opt_out_events.event_key = found.event_key;

-- name: suppress_for_good
-- People of whom the service says that they opted out. Only a person takes that back.
INSERT INTO suppressions (phone, reason, source)
SELECT DISTINCT ON (phone) phone, reason, 'service'
FROM unnest($1::bigint[], $2::text[]) AS opted_out (phone, reason) ORDER BY phone
ON CONFLICT (phone) DO UPDATE SET reason = EXCLUDED.reason, source = EXCLUDED.source, by_preference = false
WHERE suppressions.source IN ('word', 'button') OR suppressions.by_preference
RETURNING phone;

-- name: suppress_by_preference
INSERT INTO suppressions (phone, reason, source, by_preference)
SELECT phone, $2, 'service', true FROM unnest($1::bigint[]) AS phone ORDER BY phone
ON CONFLICT (phone) DO UPDATE SET by_preference = true
WHERE suppressions.source IN ('word', 'button') AND NOT suppressions.by_preference
RETURNING phone;

-- name: stop_stands
-- Returns true if a stop of the person ($2: only this event) is not taken back by a later resume of its category.
SELECT EXISTS (
    SELECT FROM opt_out_events AS stop
    WHERE stop.phone = ANY ($1::bigint[]) AND stop.kind = 'stop' AND ($2::text IS NULL OR stop.event_key = $2)
      AND NOT EXISTS (SELECT FROM opt_out_events AS later
                      WHERE later.phone = ANY ($1::bigint[]) AND later.kind = 'resume'
                        AND later.category = stop.category AND later.occurred_at > stop.occurred_at));

-- name: take_back_preference
WITH kept AS (
    UPDATE suppressions SET by_preference = false
    WHERE phone = ANY ($1::bigint[]) AND by_preference AND source IN ('word', 'button')
    RETURNING phone),
removed AS (
    DELETE FROM suppressions WHERE phone = ANY ($1::bigint[]) AND by_preference AND source = 'service'
    RETURNING phone)
SELECT phone FROM kept UNION ALL SELECT phone FROM removed;

-- name: changed_numbers
-- The present numbers of suppressed people among these, and the entry that each had with the former number.
SELECT changed.new_phone, entry.reason, entry.source, entry.by_preference
FROM opt_out_events AS changed
JOIN suppressions AS entry ON entry.phone = ANY (phone_spellings(changed.phone)::bigint[])
WHERE changed.kind = 'changed' AND changed.phone = ANY ($1::bigint[]);

-- name: suppress_changed
INSERT INTO suppressions (phone, reason, source, by_preference)
SELECT DISTINCT ON (phone) phone, reason, source, by_preference
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[]) AS changed (phone, reason, source, by_preference)
ORDER BY phone
ON CONFLICT (phone) DO NOTHING
RETURNING phone;

-- name: quoted_people
-- The phones of the recipients of these messages.
SELECT quoted.wamid, recipients.phone
FROM unnest($1::text[]) AS quoted (wamid)
CROSS JOIN LATERAL (
    SELECT range_id, seq FROM outcomes
    WHERE hashtextextended(outcomes.wamid, 0) = hashtextextended(quoted.wamid, 0) AND outcomes.wamid = quoted.wamid
    LIMIT 1) AS sent
JOIN recipients ON recipients.range_id = sent.range_id AND recipients.seq = sent.seq
WHERE recipients.phone > 0;

-- name: people_of_ids
-- The phones of people whom the service named by both before.
SELECT user_id, phone FROM person_ids WHERE user_id = ANY ($1::text[]);

-- name: note_ids
-- The latest phone of an id counts, by the service's time.
INSERT INTO person_ids AS kept (user_id, phone, seen_at)
SELECT user_id, phone, seen_at FROM unnest($1::text[], $2::bigint[], $3::timestamptz[]) AS seen (user_id, phone, seen_at)
ORDER BY user_id
ON CONFLICT (user_id) DO UPDATE SET phone = EXCLUDED.phone, seen_at = EXCLUDED.seen_at
WHERE kept.phone <> EXCLUDED.phone AND kept.seen_at <= EXCLUDED.seen_at;

-- name: look_again
-- Messages and choices of these ids came before their phone was known.
WITH choices AS (UPDATE opt_out_events SET due_at = now() WHERE user_id = ANY ($1::text[]))
UPDATE incoming_messages SET due_at = now() WHERE sender = ANY ($1::text[]);

-- name: due_messages
SELECT wamid, phone_number_id, sender, type, sent_at, body::text AS body, matches_tried,
       body #>> '{context,id}' IS NOT NULL AND received_at > now() - make_interval(days => $2) AS hopeful
FROM incoming_messages WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED;

-- name: note_senders
UPDATE incoming_messages
SET sender = found.sender, matches_tried = matches_tried + 1, due_at = now() + make_interval(secs => found.wait_s)
FROM unnest($1::text[], $2::text[], $3::float8[]) AS found (wamid, sender, wait_s)
WHERE incoming_messages.wamid = found.wamid;

-- name: held_of_known_numbers
-- A change whose number has become known.
SELECT event_key, body FROM unreadable_events
WHERE phone_number_id IN (SELECT phone_number_id FROM numbers) LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: delete_held
-- The change was read again.
DELETE FROM unreadable_events WHERE event_key = $1;

-- name: forget_held
-- The change is too old: its number is not ours.
DELETE FROM unreadable_events WHERE phone_number_id IS NOT NULL AND received_at < now() - make_interval(days => $1);
