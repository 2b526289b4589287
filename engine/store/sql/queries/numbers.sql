-- The business numbers: what the service says of them, and the limits that people set.

-- name: store
-- Limits set by a person and everything about the owner stay. So does the throughput if the service does not mention it, and
-- the known messaging limit if its word is not understood; another one ends a rest for the former.
INSERT INTO numbers (phone_number_id, display_phone_number, verified_name, quality_rating, messaging_limit_tier,
                     status, throughput_level, service_limit_per_s, known_tier, synced_at)
SELECT phone_number_id, nullif(display_phone_number, ''), nullif(verified_name, ''), nullif(quality_rating, ''),
       nullif(messaging_limit_tier, ''), nullif(status, ''), nullif(throughput_level, ''), limit_per_s, known_tier, now()
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::float8[], $9::text[])
    AS listed (phone_number_id, display_phone_number, verified_name, quality_rating, messaging_limit_tier, status,
             throughput_level, limit_per_s, known_tier)
ORDER BY phone_number_id
ON CONFLICT (phone_number_id) DO UPDATE
SET display_phone_number = excluded.display_phone_number,
    verified_name = excluded.verified_name,
    quality_rating = excluded.quality_rating,
    messaging_limit_tier = excluded.messaging_limit_tier,
    status = excluded.status,
    throughput_level = coalesce(excluded.throughput_level, numbers.throughput_level),
    service_limit_per_s = CASE WHEN excluded.throughput_level IS NULL THEN numbers.service_limit_per_s
                               ELSE excluded.service_limit_per_s END,
    suspended_until = CASE WHEN numbers.rests_for_quota AND numbers.known_tier IS DISTINCT FROM
                                coalesce(excluded.known_tier, numbers.known_tier) THEN NULL
                           ELSE numbers.suspended_until END,
    known_tier = coalesce(excluded.known_tier, numbers.known_tier),
    synced_at = excluded.synced_at,
    unlisted_at = NULL;

-- name: mark_unlisted
-- Stored numbers that the account no longer lists. This is a statement of its own. In one transaction with `store` it would lock
-- rows out of the order of their ids, while owners renew their leases.
UPDATE numbers SET unlisted_at = now()
WHERE phone_number_id IN (
    SELECT phone_number_id FROM numbers WHERE phone_number_id <> ALL ($1::text[]) AND unlisted_at IS NULL
    ORDER BY phone_number_id FOR UPDATE);

-- name: resumed
-- Those of these numbers that are not stopped: no person has to resume them.
SELECT phone_number_id FROM numbers WHERE NOT stopped AND phone_number_id = ANY ($1::text[]) ORDER BY phone_number_id;
