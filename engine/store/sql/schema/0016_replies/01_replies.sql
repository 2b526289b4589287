-- As before, but a person's messages are always found by the person: OFFSET 0 keeps the planner from reading a week's messages
-- of everybody for each recipient, now that an index has them by time.
CREATE OR REPLACE FUNCTION replies_to(phone bigint, wamid text, attempted_at timestamptz) RETURNS SETOF incoming_messages
LANGUAGE sql STABLE AS $$
    SELECT incoming_messages.* FROM incoming_messages
    WHERE hashtextextended(body #>> '{context,id}', 0) = hashtextextended($2, 0) AND body #>> '{context,id}' = $2
      AND body #>> '{context,id}' IS NOT NULL
    UNION ALL
    SELECT written.* FROM (SELECT * FROM incoming_messages WHERE sender = ANY (phone_spellings($1)) OFFSET 0) AS written
    WHERE body #>> '{context,id}' IS NULL AND sent_at >= date_trunc('second', $3) AND sent_at < $3 + interval '7 days'
$$;
