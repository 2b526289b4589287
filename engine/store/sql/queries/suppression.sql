-- The suppression list: phones that nothing is sent to, in digits of E.164.

-- name: add
-- A phone that is there keeps its first reason and time. In order, so that two imports cannot lock each other.
INSERT INTO suppressions (phone, reason)
SELECT DISTINCT phone, $2 FROM unnest($1::bigint[]) AS phone ORDER BY phone
ON CONFLICT (phone) DO NOTHING
RETURNING phone;

-- name: remove
DELETE FROM suppressions WHERE phone = ANY($1::bigint[]) RETURNING phone;

-- name: page
SELECT phone, reason, added_at FROM suppressions WHERE phone > $1 ORDER BY phone LIMIT $2;

