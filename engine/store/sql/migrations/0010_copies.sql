-- What a restored copy of a database does not share with it, even on the same server: the numbers that Postgres gave the
-- database and this table. A copy goes on from a moment that lies behind, as a fail-over does.
ALTER TABLE installation ADD COLUMN database_oid bigint, ADD COLUMN table_oid bigint;
UPDATE installation
SET database_oid = (SELECT oid FROM pg_database WHERE datname = current_database()),
    table_oid = 'installation'::regclass::oid;
