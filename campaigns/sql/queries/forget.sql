-- Forgetting one person. Recipients, outcomes and messages stay, so that all counts add up; what names the person goes.

-- name: key
SELECT forgetting_key FROM installation;

-- name: lock_campaigns
SELECT campaign_id, state FROM campaigns WHERE campaign_id = ANY ($1::bigint[]) ORDER BY campaign_id FOR UPDATE;

-- name: lock_ranges
SELECT range_id, claimed_through FROM ranges WHERE range_id = ANY ($1::bigint[]) ORDER BY range_id FOR UPDATE;

-- name: has_waiting_events
-- Events that came a moment ago and are not applied yet.
SELECT EXISTS (SELECT FROM inbox_groups WHERE recipients && $1::text[]);

-- name: erase_recipients
-- The number of variables stays: an export has as many columns.
UPDATE recipients SET phone = $3, variables = array_fill(''::text, ARRAY[cardinality(variables)])
FROM unnest($1::bigint[], $2::integer[]) AS found (range_id, seq)
WHERE recipients.range_id = found.range_id AND recipients.seq = found.seq AND recipients.range_id = ANY ($1::bigint[]);

-- name: erase_outcomes
-- The service's ids and texts may hold the phone.
UPDATE outcomes SET wamid = erased.wamid, reason = coalesce(outcomes.code::text, outcomes.reason)
FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::text[]) AS erased (range_id, seq, attempt_no, wamid)
WHERE outcomes.range_id = erased.range_id AND outcomes.seq = erased.seq AND outcomes.attempt_no = erased.attempt_no
  AND outcomes.range_id = ANY ($1::bigint[]);

-- name: erase_messages
-- Which message it answers stays, by its hash: replies are counted.
UPDATE incoming_messages
SET wamid = erased.new_wamid, sender = $4, due_at = NULL, body = CASE WHEN erased.quoted IS NULL THEN '{}'::jsonb
                                                  ELSE jsonb_build_object('context', jsonb_build_object('id', erased.quoted)) END
FROM unnest($1::text[], $2::text[], $3::text[]) AS erased (wamid, new_wamid, quoted)
WHERE incoming_messages.wamid = erased.wamid;

-- name: delete_events
DELETE FROM inbox WHERE recipient = ANY ($1::text[]);

-- name: erase_opt_outs
-- A repeated event still finds its row. $2: the pseudonym.
UPDATE opt_out_events
SET phone = CASE WHEN phone = ANY ($1::bigint[]) THEN $2 ELSE phone END, wamid = NULL, range_id = NULL, seq = NULL,
    new_phone = CASE WHEN new_phone = ANY ($1::bigint[]) THEN $2 ELSE new_phone END
WHERE phone = ANY ($1::bigint[]) OR new_phone = ANY ($1::bigint[]);

-- name: erase_noted
-- Events for programs name an opted-out person by the phone; all others name the recipient, who is erased.
UPDATE event_groups SET phones = ARRAY(SELECT CASE WHEN phone = ANY ($1::bigint[]) THEN 0 ELSE phone END
                                       FROM unnest(phones) WITH ORDINALITY AS noted (phone, place) ORDER BY place)
WHERE phones IS NOT NULL AND phones && $1::bigint[];

-- name: delete_ids
DELETE FROM person_ids WHERE phone = ANY ($1::bigint[]);

-- name: delete_account_events
-- What a service says of one person beside messages and statuses.
DELETE FROM account_events
WHERE field IN ('messages', 'user_preferences')
  AND EXISTS (SELECT FROM unnest($1::text[]) AS spelling WHERE position(spelling IN value::text) > 0);

-- name: delete_unreadable
DELETE FROM unreadable_events
WHERE EXISTS (SELECT FROM unnest($1::text[]) AS spelling WHERE position(convert_to(spelling, 'UTF8') IN body) > 0);

-- name: lock_quotas
-- As whoever changes the people of a messaging limit does.
SELECT scope FROM quota_scopes WHERE scope IN (SELECT scope FROM quota_people WHERE phone = ANY ($1::bigint[]))
ORDER BY scope FOR UPDATE;

-- name: erase_quota
-- The person stays in the count until the 24 hours are over. Each spelling gets a number of its own.
UPDATE quota_people SET phone = $2::bigint - array_position($1::bigint[], phone) + 1 WHERE phone = ANY ($1::bigint[]);
