-- name: place
-- For messages: which database a thing was looked for in, as the server itself names its place.
SELECT current_database() || ' at ' || coalesce(
    host(inet_server_addr()) || ':' || inet_server_port(), current_setting('unix_socket_directories'));
