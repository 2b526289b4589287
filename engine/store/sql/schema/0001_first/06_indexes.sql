-- Indexes beside the keys, each with the question that it answers.

-- Which range of a campaign is free? (taking a range)
CREATE INDEX ranges_free ON ranges (campaign_id, due_at, ordinal) WHERE state = 'open' AND phone_number_id IS NULL;
-- Which ranges does a number hold? (taking over, releasing)
CREATE INDEX ranges_held ON ranges (phone_number_id) WHERE phone_number_id IS NOT NULL;
-- Which ranges has a campaign? (cancel, finish, report)
CREATE INDEX ranges_of_campaign ON ranges (campaign_id, ordinal);

-- How many recipients of a campaign are in which state? (status, report)
CREATE INDEX range_counters_of_campaign ON range_counters (campaign_id);

-- Which attempt has this wamid? (events without a tag, and people who ask about one message)
-- A wamid is long and random: indexing its hash makes the index a quarter of the size, and storing an outcome cheaper.
-- A query must compare the hash and the wamid.
CREATE INDEX outcomes_wamid_hash ON outcomes (hashtextextended(wamid, 0));
-- Which attempts of a number are only assumed to be accepted? (an event without a tag may be about them)
CREATE INDEX outcomes_assumed ON outcomes (phone_number_id) WHERE kind = 1 AND wamid IS NULL;
-- Why did recipients fail or get skipped? (report)
CREATE INDEX outcomes_failures ON outcomes (range_id, reason) WHERE reason IS NOT NULL;

-- Which attempts of a number are in doubt? (events without a tag, policies)
CREATE INDEX pending_attempts_unknown ON pending_attempts (phone_number_id) WHERE state = 'unknown';

-- Which events are due, the longest waiting first?
CREATE INDEX inbox_due ON inbox (due_at);
-- What did this person write?
CREATE INDEX incoming_messages_sender ON incoming_messages (sender, sent_at);
-- Which account events are still to be acted on?
CREATE INDEX account_events_to_act ON account_events (received_at) WHERE acted_at IS NULL;
-- Is there a later event about the same subject?
CREATE INDEX account_events_subject ON account_events (subject, received_at);
