-- A query of a person against a database that is not Drumbeat's own.

-- name: begin_reading
-- For this transaction. Its snapshot is taken here: all rows of the query are of this moment.
SELECT set_config('statement_timeout', $1, true), statement_timestamp() AS read_at;

-- name: volatile
-- The functions of these names that are written in C and may have effects.
SELECT DISTINCT proname::text AS name
FROM pg_catalog.pg_proc JOIN pg_catalog.pg_language ON pg_language.oid = prolang
WHERE proname = ANY($1::text[]) AND provolatile = 'v' AND lanname IN ('c', 'internal')
ORDER BY name;
