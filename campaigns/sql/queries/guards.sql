-- name: set_guards
UPDATE campaigns
SET days = $2::smallint[], quiet_from = $3, quiet_until = $4, cap_messages = $5, cap_period_s = $6
WHERE campaign_id = $1;

-- name: set_zones
UPDATE campaigns SET recipient_zones = $2::text[] WHERE campaign_id = $1;

-- name: index_phones
-- A frequency cap finds a person's messages of all campaigns by phone. The first campaign with a cap makes the index, because
-- it makes each later plan slower; `recipients_phone`, which every database has, only excludes most pages. Plans wait meanwhile; senders go on, because they write no recipients.
CREATE INDEX IF NOT EXISTS recipients_phone_exact ON recipients (phone);

-- name: waiting
-- Recipients of a running campaign that wait for the hours of their time zones: how many, why, and until when.
SELECT ranges.waits_for AS reason, ranges.due_at AS until,
       sum(range_counters.pending + range_counters.deferred)::bigint AS recipients
FROM ranges JOIN range_counters USING (range_id)
WHERE ranges.campaign_id = $1 AND ranges.state = 'open' AND ranges.phone_number_id IS NULL
  AND ranges.due_at > now() AND ranges.waits_for IS NOT NULL AND ranges.time_zones IS NOT NULL
GROUP BY 1, 2 ORDER BY 2, 1;

-- name: add_opt_out_word
INSERT INTO opt_out_words (word, language, opts_in) VALUES ($1, $2, $3) ON CONFLICT (word) DO NOTHING RETURNING word;

-- name: remove_opt_out_word
DELETE FROM opt_out_words WHERE word = $1 RETURNING word;
