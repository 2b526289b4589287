-- name: backend
-- Which process of the server answers.
SELECT pg_backend_pid();

-- name: no_transaction_timeout
-- Since Postgres 17; older ones do not begin a session that names it.
SET transaction_timeout = 0;
