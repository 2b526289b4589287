-- What the service says of numbers, templates and the account, and what people were told of it.

-- name: store
INSERT INTO service_facts AS kept (subject, fact, word) VALUES ($1, $2, $3)
ON CONFLICT (subject, fact) DO UPDATE SET word = EXCLUDED.word, since = now() WHERE kept.word <> EXCLUDED.word;

-- name: look
-- The present words of numbers and templates, where they differ from what is kept. What was not looked at before is no news.
INSERT INTO service_facts AS kept (subject, fact, word, told)
SELECT present.subject, present.fact, present.word, present.word
FROM (SELECT phone_number_id AS subject, 'quality' AS fact, coalesce(quality_rating, '') AS word FROM numbers
      UNION ALL
      SELECT phone_number_id, 'tier', coalesce(messaging_limit_tier, '') FROM numbers
      UNION ALL
      SELECT phone_number_id, 'rest',
             CASE WHEN suspended_until > now() + interval '1 hour' AND NOT rests_for_quota THEN 'rests' ELSE '' END
      FROM numbers
      UNION ALL
      SELECT name || ' (' || language || ')', 'category', coalesce(category, '') FROM templates) AS present
LEFT JOIN service_facts AS known ON known.subject = present.subject AND known.fact = present.fact
WHERE known.word IS DISTINCT FROM present.word
ORDER BY present.subject, present.fact
ON CONFLICT (subject, fact) DO UPDATE SET word = EXCLUDED.word, since = now();

-- name: take_untold
UPDATE service_facts AS fact SET told = fact.word
FROM (SELECT subject, fact, word, told FROM service_facts WHERE told IS DISTINCT FROM word
      ORDER BY since FOR UPDATE SKIP LOCKED) AS untold
LEFT JOIN numbers ON numbers.phone_number_id = untold.subject
WHERE fact.subject = untold.subject AND fact.fact = untold.fact
RETURNING untold.subject, untold.fact, untold.word, untold.told, numbers.phone_number_id,
          coalesce(numbers.display_phone_number, numbers.phone_number_id) AS name;

-- name: present
-- What is so now, of these subjects.
SELECT subject, fact, word FROM service_facts WHERE subject = ANY ($1::text[]) AND word <> '' ORDER BY subject, fact;

-- name: set_category
UPDATE templates SET category = $3::text, compare_at = now() WHERE name = $1 AND language = $2 AND category IS DISTINCT FROM $3 AND $3 IS NOT NULL;
