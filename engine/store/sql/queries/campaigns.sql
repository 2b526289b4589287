-- name: lock_state
SELECT state FROM campaigns WHERE campaign_id = $1 FOR UPDATE;

-- name: set_state
UPDATE campaigns
SET state = $2,
    reason = $3,
    started_at = CASE WHEN $2 = 'running' THEN coalesce(started_at, now()) ELSE started_at END,
    finished_at = CASE WHEN $2 IN ('finished', 'cancelled', 'expired') THEN now() END
WHERE campaign_id = $1;

-- name: set_reason
-- Why a running campaign does not send right now; the state stays.
UPDATE campaigns SET reason = $2 WHERE campaign_id = $1 AND state = 'running' AND reason <> $2;

-- name: set_reason_of_pause
UPDATE campaigns SET reason = $2 WHERE campaign_id = $1 AND state = 'paused';

-- name: of_template
-- Campaigns that would go on sending a template that was paused, disabled or rejected.
SELECT campaign_id FROM campaigns
WHERE template ->> 'name' = $1 AND template ->> 'language' = $2 AND state IN ('scheduled', 'running')
ORDER BY campaign_id;
