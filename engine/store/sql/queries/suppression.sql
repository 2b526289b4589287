-- The suppression list: phones that nothing is sent to, in digits of E.164.
-- Phones are added in their order, so that two sessions that add many cannot deadlock. A listed phone keeps its first reason
-- and time.

-- name: add
-- An entry that a word made becomes that of the person who lists the phone too: no other word takes it back.
INSERT INTO suppressions (phone, reason, source)
SELECT DISTINCT phone, $2, $3 FROM unnest($1::bigint[]) AS phone ORDER BY phone
ON CONFLICT (phone) DO UPDATE SET reason = EXCLUDED.reason, source = EXCLUDED.source
WHERE suppressions.source IN ('word', 'button')
RETURNING phone, xmax = 0 AS is_new;

-- name: add_each
-- Phones that the service refused because their people opted out, each with a reason of its own.
WITH added AS (
    INSERT INTO suppressions (phone, reason, source)
    SELECT phone, reason, 'service' FROM unnest($1::bigint[], $2::text[]) AS opted_out (phone, reason) ORDER BY phone
    ON CONFLICT (phone) DO NOTHING
    RETURNING phone)
INSERT INTO audit (actor, action, detail)
SELECT 'service', 'opt-out', jsonb_build_object('source', 'service', 'entries', count(*)) FROM added HAVING count(*) > 0;

-- name: remove
DELETE FROM suppressions WHERE phone = ANY($1::bigint[]) RETURNING phone;

-- name: page
SELECT phone, reason, added_at, source FROM suppressions WHERE phone > $1 ORDER BY phone LIMIT $2;
