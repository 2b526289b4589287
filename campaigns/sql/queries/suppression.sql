-- The suppression list: phones that nothing is sent to, in digits of E.164.
-- Phones are added in their order, so that two sessions that add many cannot deadlock. A listed phone keeps its first reason
-- and time.

-- name: add
-- An entry that a word or the app's menu made becomes that of the person who lists the phone too: nothing but a person takes
-- it back.
INSERT INTO suppressions (phone, reason, source)
SELECT DISTINCT phone, $2, $3 FROM unnest($1::bigint[]) AS phone ORDER BY phone
ON CONFLICT (phone) DO UPDATE SET reason = EXCLUDED.reason, source = EXCLUDED.source, by_preference = false
WHERE suppressions.source IN ('word', 'button') OR suppressions.by_preference
RETURNING phone, xmax = 0 AS is_new;

-- name: remove
DELETE FROM suppressions WHERE phone = ANY($1::bigint[]) RETURNING phone;

-- name: page
SELECT phone, reason, added_at, source FROM suppressions WHERE phone > $1 ORDER BY phone LIMIT $2;
