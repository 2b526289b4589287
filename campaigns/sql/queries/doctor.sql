-- What `drumbeat doctor` asks.

-- name: database
SELECT current_setting('server_version') AS version, (SELECT max(number) FROM schema_migrations) AS migration,
       current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' AS durable,
       clock_timestamp() AS now, (SELECT count(*) FROM numbers) AS numbers, (SELECT count(*) FROM templates) AS templates;
