-- The use of messaging limits: the people to whom numbers wrote in the last 24 hours.

-- name: tiers
-- The tiers of all numbers of the account, also of those that others own: they may share a limit.
SELECT phone_number_id, messaging_limit_tier, known_tier FROM numbers WHERE unlisted_at IS NULL ORDER BY phone_number_id;

-- name: counts_account
-- Returns true if the numbers share a limit. The senders know it by their settings, and then have only scopes of that kind.
SELECT EXISTS (SELECT 1 FROM quota_scopes WHERE scope = $1);

-- name: standings
-- $3: the seconds after which a person no longer counts. Rows that are older and not removed yet are left out. more_at: when one
-- person more may be written to. After a change to a smaller limit, several people must leave the count first.
SELECT wanted.scope, wanted.quota_limit,
       CASE WHEN oldest.counted_at > now() - make_interval(secs => $3) THEN quota_scopes.used
            ELSE (SELECT count(*) FROM quota_people
                  WHERE quota_people.scope = wanted.scope AND counted_at > now() - make_interval(secs => $3)) END AS used,
       (SELECT counted_at FROM quota_people
        WHERE quota_people.scope = wanted.scope AND counted_at > now() - make_interval(secs => $3)
        ORDER BY counted_at OFFSET greatest(0, quota_scopes.used::bigint - wanted.quota_limit) LIMIT 1)
           + make_interval(secs => $3) AS more_at
FROM unnest($1::text[], $2::integer[]) AS wanted (scope, quota_limit)
JOIN quota_scopes ON quota_scopes.scope = wanted.scope,
LATERAL (SELECT min(counted_at) AS counted_at FROM quota_people WHERE quota_people.scope = wanted.scope) AS oldest;

-- name: lock
SELECT used FROM quota_scopes WHERE scope = $1 FOR NO KEY UPDATE;

-- name: begin_scope
INSERT INTO quota_scopes (scope) VALUES ($1) ON CONFLICT (scope) DO NOTHING;

-- name: count_earlier
-- The people to whom the numbers $2 wrote before their limit was counted: an earlier version, or another limit, counted nobody.
-- `claims` names the ranges in which a number made attempts.
INSERT INTO quota_people (scope, phone, counted_at, range_id, seq, attempt_no)
SELECT DISTINCT ON (recipients.phone) $1, recipients.phone, outcomes.attempted_at, outcomes.range_id, outcomes.seq,
       outcomes.attempt_no
FROM (SELECT DISTINCT range_id FROM claims WHERE phone_number_id = ANY($2::text[])) AS held
JOIN outcomes ON outcomes.range_id = held.range_id
JOIN recipients ON recipients.range_id = outcomes.range_id AND recipients.seq = outcomes.seq
WHERE outcomes.kind = 1 AND outcomes.phone_number_id = ANY($2::text[])
  AND outcomes.attempted_at > now() - make_interval(secs => $3)
  AND NOT EXISTS (SELECT 1 FROM incoming_messages
                  WHERE sender = recipients.phone::text AND incoming_messages.phone_number_id = outcomes.phone_number_id
                    AND sent_at BETWEEN outcomes.attempted_at - make_interval(secs => $4) AND outcomes.attempted_at OFFSET 0)
ORDER BY recipients.phone, outcomes.attempted_at DESC
ON CONFLICT (scope, phone) DO NOTHING;

-- name: give_back
-- People whose attempt was certainly not accepted, unless another one was claimed since.
WITH returned AS (
    DELETE FROM quota_people
    USING unnest($2::bigint[], $3::bigint[], $4::integer[], $5::integer[]) AS unsent (phone, range_id, seq, attempt_no)
    WHERE scope = $1 AND quota_people.phone = unsent.phone AND quota_people.range_id = unsent.range_id
      AND quota_people.seq = unsent.seq AND quota_people.attempt_no = unsent.attempt_no
    RETURNING 1)
SELECT count(*) FROM returned;

-- name: look
-- Removes people who no longer count, and returns for each phone of $2 the effect of a message to it: 0 a conversation with
-- number $3 is open, 1 counted already, 2 one person more (`Person` of engine/core/limits/quota.py). $5: for how long a conversation is
-- open.
WITH expired AS (
    DELETE FROM quota_people WHERE scope = $1 AND counted_at <= now() - make_interval(secs => $4) RETURNING 1)
SELECT (SELECT count(*) FROM expired) AS expired,
       ARRAY(SELECT CASE
                        WHEN EXISTS (SELECT 1 FROM incoming_messages
                                     WHERE sender = asked.phone::text AND phone_number_id = $3
                                       AND sent_at > now() - make_interval(secs => $5) OFFSET 0) THEN 0
                        WHEN EXISTS (SELECT 1 FROM quota_people
                                     WHERE scope = $1 AND phone = asked.phone
                                       AND counted_at > now() - make_interval(secs => $4) OFFSET 0) THEN 1
                        ELSE 2
                    END
             FROM unnest($2::bigint[]) WITH ORDINALITY AS asked (phone, position) ORDER BY position) AS people;

-- name: count_people
INSERT INTO quota_people AS kept (scope, phone, counted_at, range_id, seq, attempt_no)
SELECT $1, phone, now(), range_id, seq, attempt_no
FROM unnest($2::bigint[], $3::bigint[], $4::integer[], $5::integer[]) AS person (phone, range_id, seq, attempt_no)
ON CONFLICT (scope, phone) DO UPDATE
SET counted_at = greatest(kept.counted_at, excluded.counted_at), range_id = excluded.range_id, seq = excluded.seq,
    attempt_no = excluded.attempt_no;

-- name: set_used
UPDATE quota_scopes SET used = $2 WHERE scope = $1;

-- name: forget_scopes
-- Scopes that no longer have a limit, or were counted by another setting. If they are counted again later, no people may be
-- missing.
DELETE FROM quota_scopes WHERE scope <> ALL($1::text[]) RETURNING scope;

-- name: forget_people
DELETE FROM quota_people WHERE scope = ANY($1::text[]);

-- name: waits
-- Returns true if a campaign has free ranges, and none of its numbers holds one: nobody sends for it at this moment.
SELECT EXISTS (SELECT 1 FROM ranges WHERE campaign_id = $1 AND state = 'open' AND phone_number_id IS NULL)
   AND NOT EXISTS (SELECT 1 FROM ranges WHERE phone_number_id = ANY($2::text[]) AND campaign_id = $1 AND state = 'open');
