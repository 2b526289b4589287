-- name: lock_number
SELECT epoch, owner, owner_process, released,
       coalesce(leased_until > now(), false) AS lease_runs,
       extract(epoch FROM clock_timestamp() - leased_until)::float8 AS past_lease_s,
       coalesce(no_send_before = 'infinity', false) AS unstamped,
       coalesce(extract(epoch FROM nullif(no_send_before, 'infinity') - clock_timestamp()), 0)::float8 AS quiet_s
FROM numbers WHERE phone_number_id = $1 FOR UPDATE;

-- name: owners
-- A look without locks: whose lease has run out or was given back, and who owns the others.
SELECT phone_number_id, owner_process, released OR coalesce(leased_until <= now(), true) AS free
FROM numbers WHERE phone_number_id = ANY($1::text[]) ORDER BY phone_number_id;

-- name: take_over
UPDATE numbers
SET epoch = greatest(epoch + 1, (SELECT epoch_floor FROM installation)), owner = $2, owner_process = $3, released = false,
    leased_until = clock_timestamp() + make_interval(secs => $4),
    no_send_before = CASE WHEN $5 THEN 'infinity' ELSE no_send_before END
WHERE phone_number_id = $1
RETURNING epoch;

-- name: begin_wait
-- no_send_before is infinity from a taking-over without proof until the ranges are stamped: until then the former owner
-- may still claim, and whoever comes next must wait all of it.
UPDATE numbers SET no_send_before = clock_timestamp() + make_interval(secs => $3)
WHERE phone_number_id = $1 AND epoch = $2 AND no_send_before = 'infinity';

-- name: renew
-- One statement for all numbers of a process; a number that is missing from the answer has a new owner. Rows are locked in
-- the order of their ids, as everywhere: a process that stores what the service says of all of them does so meanwhile.
WITH locked AS MATERIALIZED (
    SELECT phone_number_id FROM numbers WHERE phone_number_id = ANY($1::text[]) ORDER BY phone_number_id FOR NO KEY UPDATE)
UPDATE numbers
SET leased_until = clock_timestamp() + make_interval(secs => $3), rate_per_s = held.rate_per_s
FROM unnest($1::text[], $2::bigint[], $4::float8[]) AS held (phone_number_id, epoch, rate_per_s)
WHERE numbers.phone_number_id = held.phone_number_id AND numbers.epoch = held.epoch
  AND (SELECT count(*) FROM locked) > 0  -- all of them, before the first is written
RETURNING numbers.phone_number_id,
          coalesce(manual_limit_per_s, service_limit_per_s, 80) AS limit_per_s,
          extract(epoch FROM suspended_until - now())::float8 AS suspended_s, suspended_reason,
          synced_at IS NULL AS outdated;

-- name: release
-- A clean end: every outcome is stored and every range given back. leased_until tells when, for the pace's second.
UPDATE numbers SET released = true, leased_until = clock_timestamp(), rate_per_s = NULL
WHERE phone_number_id = $1 AND epoch = $2;

-- name: suspend
-- A longer rest that stands already is not cut short.
UPDATE numbers SET suspended_until = now() + make_interval(secs => $2), suspended_reason = $3
WHERE phone_number_id = $1 AND coalesce(suspended_until < now() + make_interval(secs => $2), true);
