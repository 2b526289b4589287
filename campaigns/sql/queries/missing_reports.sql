-- Reports that do not come, as when no receiver of events runs.

-- name: missing_since
-- When the oldest message was accepted that the service has not reported on since the last event of the campaign's numbers.
-- NULL if an event came in the last $2 seconds, or the message is not as old. While events come, that is all that is read;
-- else 20 ranges at most.
SELECT min(outcomes.attempted_at) FILTER (WHERE outcomes.attempted_at < now() - make_interval(secs => $2))
FROM (SELECT max(last_event_at) AS at FROM campaign_numbers LEFT JOIN event_flow USING (phone_number_id)
      WHERE campaign_id = $1) AS latest,
     LATERAL (SELECT range_id FROM range_counters
              WHERE campaign_id = $1 AND accepted > 0
                AND coalesce(latest.at, '-infinity') < now() - make_interval(secs => $2)
              ORDER BY range_id LIMIT 20) AS waiting
JOIN outcomes USING (range_id)
WHERE outcomes.status = 1 AND outcomes.attempted_at > coalesce(latest.at, '-infinity');
