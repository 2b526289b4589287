-- The results of a campaign by its templates.

-- name: results
-- Recipients by template and state, and how many of them answered with a message that quotes theirs.
WITH quoted AS MATERIALIZED (
    SELECT body #>> '{context,id}' AS wamid FROM incoming_messages
    WHERE body #>> '{context,id}' IS NOT NULL
      AND sent_at >= (SELECT started_at - interval '1 day' FROM campaigns WHERE campaign_id = $1))
SELECT recipients.template_index, recipient_states.state, count(*) AS recipients,
       count(*) FILTER (WHERE recipient_states.wamid IN (SELECT wamid FROM quoted)) AS replied
FROM recipient_states JOIN recipients USING (range_id, seq)
WHERE recipient_states.campaign_id = $1
GROUP BY 1, 2;
