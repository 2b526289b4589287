-- name: already_retried
-- Recipients of a range to whom another campaign already sends again, or has sent again. So has one that was pruned.
SELECT retried.source_seq AS seq FROM retried_recipients AS retried
LEFT JOIN LATERAL (
    SELECT state FROM recipient_states
    WHERE recipient_states.range_id = retried.range_id AND recipient_states.seq = retried.seq OFFSET 0) AS known ON true
WHERE retried.source_range_id = $1 AND known.state IS DISTINCT FROM 'skipped';
