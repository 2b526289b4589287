-- The versions of the schema.

-- name: lock
-- Two processes that start at once must not both create the tables.
SELECT pg_advisory_xact_lock(hashtextextended('drumbeat.migrate', 0));

-- name: create_versions
CREATE TABLE IF NOT EXISTS schema_migrations (
    number     integer PRIMARY KEY,
    name       text        NOT NULL,
    checksum   text        NOT NULL,  -- of the version's files
    requires   integer     NOT NULL DEFAULT 1,  -- the least schema that a program must know to work with it
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- name: applied
SELECT number, checksum FROM schema_migrations;

-- name: required
-- The least schema that a program must know to work with this database.
SELECT coalesce(max(requires), 1) FROM schema_migrations;

-- name: announce
-- A connection's program knows schema $2, of the class $1.
SELECT pg_advisory_lock_shared($1, $2);

-- name: fence
-- From now on nobody learns what the database requires, until this transaction ends. Whoever learned it before has announced
-- what it knows, and is found by `connected`.
LOCK TABLE schema_migrations IN ACCESS EXCLUSIVE MODE;

-- name: connected
-- Programs of other sessions that announced a schema, of the class $1. Every role may read the name of a session, but not its address.
SELECT DISTINCT application_name AS program, objid::integer AS schema
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND classid::bigint = $1 AND objsubid = 2 AND granted
  AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND pid <> pg_backend_pid()
ORDER BY schema, program;

-- name: short_locks
SET LOCAL lock_timeout = '500ms';

-- name: record
INSERT INTO schema_migrations (number, name, checksum, requires) VALUES ($1, $2, $3, $4);
