-- The session, and the server behind it.

-- name: backend
-- The process of the server that answers.
SELECT pg_backend_pid();

-- name: no_transaction_timeout
-- This setting exists since Postgres 17. An older server refuses a session that asks for it at its start.
SET transaction_timeout = 0;

-- name: describe_database
-- For error messages: the database in which something was looked for, and where its server is. Most roles may not read where a
-- server has its sockets.
SELECT current_database() || ' at ' || coalesce(
    host(inet_server_addr()) || ':' || inet_server_port(),
    CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE') THEN current_setting('unix_socket_directories') END,
    'a local socket');
