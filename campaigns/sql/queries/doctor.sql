-- What `drumbeat doctor` asks.

-- name: database
SELECT current_setting('server_version') AS version, (SELECT max(number) FROM schema_migrations) AS migration,
       current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' AS durable,
       clock_timestamp() AS now, (SELECT count(*) FROM numbers) AS numbers, (SELECT count(*) FROM templates) AS templates;

-- name: receiving
-- untied: opt-outs of the last weeks that name nobody whom we know; kept for 30 days.
SELECT (SELECT max(last_event_at) FROM event_flow) AS last_event_at,
       (SELECT count(*) FROM opt_out_events
        WHERE phone IS NULL AND kind <> 'changed' AND occurred_at > now() - interval '30 days') AS untied;

-- name: untied_messages
-- Messages of the last weeks whose senders are no phones. They are few.
SELECT body FROM incoming_messages WHERE sender !~ '^[0-9]{5,15}$' AND sent_at > now() - interval '30 days'
ORDER BY sent_at DESC LIMIT 10000;

-- name: refusals
SELECT reason, sum(refused)::bigint AS refused, max(minute) AS last_at
FROM callback_refusals WHERE minute > now() - interval '1 hour'
GROUP BY reason ORDER BY refused DESC, reason;

-- name: set_aside
SELECT problem, count(*) AS events FROM unreadable_events WHERE phone_number_id IS NULL
GROUP BY problem ORDER BY events DESC, problem LIMIT 5;

-- name: connection
-- How this connection came here: by which address, null for a socket, and encrypted or not.
SELECT host(inet_server_addr()) AS address, coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted;

-- name: standbys
-- The standbys that follow this server, with how far their copy is behind, in seconds. A role without pg_monitor sees none.
SELECT coalesce(nullif(application_name, ''), host(client_addr)) AS name, state,
       coalesce(extract(epoch FROM replay_lag), 0)::float8 AS lag_s
FROM pg_stat_replication WHERE state IS NOT NULL ORDER BY name;

-- name: still_to_send
-- Recipients of campaigns that have not ended.
SELECT coalesce(sum(recipients), 0)::bigint FROM campaigns WHERE state IN ('draft', 'scheduled', 'running', 'paused');
