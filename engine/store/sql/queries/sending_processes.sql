-- The workers that send now, and the numbers that they divide among themselves. All times are the database's.

-- name: remove_dead
-- Removes workers that ended a minute ago or more. One that still lives inserts its row again.
DELETE FROM sending_processes WHERE live_until < clock_timestamp() - interval '1 minute';

-- name: note
INSERT INTO sending_processes (process, wanted, idle, live_until)
VALUES ($1, $2::text[], $3::text[], clock_timestamp() + make_interval(secs => $4))
ON CONFLICT (process) DO UPDATE SET idle = excluded.idle, live_until = excluded.live_until;

-- name: end
-- The worker stops, or is proven dead: the others plan its numbers for themselves at once.
UPDATE sending_processes SET live_until = least(live_until, clock_timestamp()) WHERE process = ANY($1::jsonb[]);

-- name: numbers
-- The numbers and their owners. free: any process may take it. shared: its owner is a worker, or was one until a minute ago; a
-- number that is neither free nor shared belongs to a `campaign run`.
SELECT phone_number_id, owner_process, coalesce(rate_per_s, 0) AS rate_per_s,
       coalesce(manual_limit_per_s, service_limit_per_s, 80) AS limit_per_s,
       released OR coalesce(leased_until <= now(), true) AS free,
       process IS NOT NULL AS shared
FROM numbers LEFT JOIN sending_processes ON process = owner_process
ORDER BY phone_number_id;

-- name: live
-- $1: only workers that want one of these numbers, or NULL.
SELECT process, wanted, idle FROM sending_processes
WHERE live_until > clock_timestamp() AND ($1::text[] IS NULL OR wanted && $1::text[])
ORDER BY process;
