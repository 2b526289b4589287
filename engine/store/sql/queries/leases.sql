-- The lease of a number: one owner at a time, fenced by an epoch. All times are the database's.

-- name: lock_number
-- fence_missing: the number was taken over without proof that its owner ended, and its ranges are not fenced yet.
SELECT epoch, owner, owner_process, released,
       coalesce(leased_until > now(), false) AS lease_runs,
       extract(epoch FROM clock_timestamp() - leased_until)::float8 AS past_lease_s,
       coalesce(no_send_before = 'infinity', false) AS fence_missing,
       coalesce(extract(epoch FROM nullif(no_send_before, 'infinity') - clock_timestamp()), 0)::float8 AS no_send_s
FROM numbers WHERE phone_number_id = $1 FOR UPDATE;

-- name: take_over
UPDATE numbers
SET epoch = greatest(epoch + 1, (SELECT epoch_floor FROM installation)), owner = $2, owner_process = $3, released = false,
    only_campaign = $6,
    leased_until = clock_timestamp() + make_interval(secs => $4),
    no_send_before = CASE WHEN $5 THEN 'infinity' ELSE no_send_before END
WHERE phone_number_id = $1
RETURNING epoch;

-- name: begin_wait
-- If the number was taken over without proof that its owner ended, no_send_before is infinity until its ranges are fenced:
-- the former owner may still claim, and whoever takes the number over next must wait the full time.
UPDATE numbers SET no_send_before = clock_timestamp() + make_interval(secs => $3)
WHERE phone_number_id = $1 AND epoch = $2 AND no_send_before = 'infinity';

-- name: renew
-- One statement for all numbers of a process; a number that is missing from the answer has a new owner. The rows are locked
-- in the order of their ids, as everywhere: a process may store what the service says of all of them at the same time.
WITH locked AS MATERIALIZED (
    SELECT phone_number_id FROM numbers WHERE phone_number_id = ANY($1::text[]) ORDER BY phone_number_id FOR NO KEY UPDATE)
UPDATE numbers
SET leased_until = clock_timestamp() + make_interval(secs => $3), rate_per_s = held.rate_per_s,
    achieved_per_s = held.achieved_per_s, slowed_since = CASE WHEN held.slowed THEN coalesce(slowed_since, now()) END
FROM unnest($1::text[], $2::bigint[], $4::float8[], $5::float8[], $6::boolean[])
    AS held (phone_number_id, epoch, rate_per_s, achieved_per_s, slowed)
WHERE numbers.phone_number_id = held.phone_number_id AND numbers.epoch = held.epoch
  AND (SELECT count(*) FROM locked) > 0  -- locks all of them before the first is written
RETURNING numbers.phone_number_id,
          coalesce(manual_limit_per_s, service_limit_per_s, 80) AS limit_per_s,
          stopped OR coalesce(suspended_until > now(), false) AS rests, suspended_reason,
          synced_at IS NULL AS outdated;

-- name: release
-- The owner ended in order: its outcomes are stored and its ranges released. leased_until keeps the moment of the release,
-- from which the next owner counts the second of the pace.
UPDATE numbers SET released = true, leased_until = clock_timestamp(), rate_per_s = NULL, achieved_per_s = NULL,
    slowed_since = NULL, only_campaign = NULL
WHERE phone_number_id = $1 AND epoch = $2;

-- name: suspend
-- A rest that ends by itself. It does not shorten a rest that already holds, and does not end a stop.
UPDATE numbers SET suspended_until = now() + make_interval(secs => $2), suspended_reason = $3, rests_for_quota = $4
WHERE phone_number_id = $1 AND NOT stopped AND coalesce(suspended_until < now() + make_interval(secs => $2), true);

-- name: stop
-- Only a person ends this, by `resume` in numbers.sql. Returns true if the number was not stopped before.
WITH former AS (SELECT stopped FROM numbers WHERE phone_number_id = $1 FOR UPDATE)
UPDATE numbers SET stopped = true, suspended_until = NULL, suspended_reason = $2
FROM former WHERE phone_number_id = $1
RETURNING NOT former.stopped;

-- name: all_stopped
-- The reason why the first of these numbers is stopped, if all of them are; else NULL.
SELECT CASE WHEN bool_and(stopped)
            THEN (array_agg(phone_number_id || ': ' || coalesce(suspended_reason, 'stopped') ORDER BY phone_number_id))[1] END
FROM numbers WHERE phone_number_id = ANY($1::text[]);
