-- Where this database is: what a restored copy and a standby that took over do not share with it. The timeline is that of
-- what is written now. A checkpoint's is not: for minutes after a standby took over, the last one is of the former primary.
-- NULL: a standby.
CREATE VIEW present_place AS
SELECT system_identifier, pg_database.oid::bigint AS database_oid,
       CASE WHEN NOT pg_is_in_recovery()
            THEN ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint END AS timeline
FROM pg_control_system(), pg_database
WHERE datname = current_database();
