-- The versions of the schema.

-- name: lock
-- Two processes that start at once must not both create the tables.
SELECT pg_advisory_xact_lock(hashtextextended('drumbeat.migrate', 0));

-- name: create_versions
CREATE TABLE IF NOT EXISTS schema_migrations (
    number     integer PRIMARY KEY,
    name       text        NOT NULL,
    checksum   text        NOT NULL,  -- of the version's files
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- name: applied
SELECT number, checksum FROM schema_migrations;

-- name: sender
-- The owner of a number now. That process would continue by the rules of its own version.
SELECT owner FROM numbers WHERE NOT released AND leased_until > now() ORDER BY phone_number_id LIMIT 1;

-- name: record
INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3);
