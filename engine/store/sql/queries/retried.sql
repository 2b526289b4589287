-- The earlier campaigns of retries, which send once more to recipients whom another campaign did not reach.

-- name: earlier
-- The states of these recipients in the campaign that theirs retries, in the one before that, and so on.
WITH RECURSIVE chain AS (
    SELECT retried.range_id, retried.seq, retried.source_range_id, retried.source_seq
    FROM unnest($1::bigint[], $2::integer[]) AS asked (range_id, seq)
    JOIN retried_recipients AS retried ON retried.range_id = asked.range_id AND retried.seq = asked.seq
    UNION ALL
    SELECT chain.range_id, chain.seq, retried.source_range_id, retried.source_seq
    FROM chain
    JOIN retried_recipients AS retried ON retried.range_id = chain.source_range_id AND retried.seq = chain.source_seq)
SELECT chain.range_id, chain.seq, campaigns.name AS campaign, known.state, known.code,
       extract(epoch FROM now() - coalesce(known.failed_at, known.attempted_at))::float8 AS failed_for_s
FROM chain
CROSS JOIN LATERAL (
    SELECT campaign_id, state, code, failed_at, attempted_at FROM recipient_states
    WHERE recipient_states.range_id = chain.source_range_id AND recipient_states.seq = chain.source_seq OFFSET 0) AS known
JOIN campaigns ON campaigns.campaign_id = known.campaign_id;
