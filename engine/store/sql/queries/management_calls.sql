-- The budget of management calls that processes share.

-- name: level
-- The present level of an account, $2 seconds for each call. The row stays locked, so that no two processes spend the
-- same call. A clock that was set back does not raise the level.
INSERT INTO management_calls AS calls (account, level, measured_at)
VALUES ($1, 0, clock_timestamp())
ON CONFLICT (account) DO UPDATE
SET level = greatest(0, calls.level - greatest(0, extract(epoch FROM clock_timestamp() - calls.measured_at)) / $2::float8),
    measured_at = clock_timestamp()
RETURNING level;

-- name: spend
UPDATE management_calls SET level = level + 1 WHERE account = $1;
