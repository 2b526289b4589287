-- The state of a campaign, the reason for it, and the actor who decided it.

-- name: lock_state
SELECT state, planned_at IS NOT NULL AS is_planned FROM campaigns WHERE campaign_id = $1 FOR UPDATE;

-- name: set_state
UPDATE campaigns
SET state = $2,
    reason = $3,
    reason_code = $4,
    released_at = CASE WHEN $2 IN ('scheduled', 'running') AND state NOT IN ('scheduled', 'running') THEN now()
                       ELSE released_at END,
    started_at = CASE WHEN $2 = 'running' THEN coalesce(started_at, now()) ELSE started_at END,
    finished_at = CASE WHEN $2 IN ('finished', 'cancelled', 'expired') THEN now() END
WHERE campaign_id = $1;

-- name: set_reason
-- Changes only the reason. The state stays.
UPDATE campaigns SET reason = $3, reason_code = $4
WHERE campaign_id = $1 AND state = $2 AND (reason, reason_code) IS DISTINCT FROM ($3, $4::text);

-- name: of_template
-- Campaigns that would continue to send a template that was paused, disabled or rejected. One of several templates counts if some
-- recipient gets it. $3, if given: only campaigns that no person released since.
SELECT campaign_id FROM campaigns
WHERE state IN ('scheduled', 'running') AND ($3::timestamptz IS NULL OR released_at < $3)
  AND EXISTS (SELECT FROM jsonb_array_elements(jsonb_build_array(template) || coalesce(template -> 'others', '[]')) AS part
              WHERE part ->> 'name' = $1 AND part ->> 'language' = $2 AND coalesce((part ->> 'recipients')::bigint, 1) > 0)
ORDER BY campaign_id;

-- name: that_may_send
SELECT campaign_id FROM campaigns WHERE state IN ('scheduled', 'running') ORDER BY campaign_id;

-- name: audit
INSERT INTO audit (actor, action, campaign_id, detail) VALUES ($1, $2, $3, $4);
