-- The canary of a campaign, and its error budget.

-- name: read
-- A campaign's canary with its recipients by state. waited_s counts from when the last of its recipients was attempted.
SELECT canaries.recipients, max_failed, needs_approval, wait_s, sent_at, approved_at, passed_at,
       coalesce(extract(epoch FROM now() - sent_at), 0)::float8 AS waited_s, counts.*
FROM canaries,
     LATERAL (
         SELECT coalesce(sum(pending), 0)::bigint AS unsent, coalesce(sum(skipped), 0)::bigint AS skipped,
                coalesce(sum(sent), 0)::bigint AS on_the_way, coalesce(sum(delivered + read), 0)::bigint AS arrived,
                coalesce(sum(failed), 0)::bigint AS failed
         FROM ranges JOIN range_counters USING (range_id)
         WHERE ranges.campaign_id = canaries.campaign_id AND ordinal < canaries.ranges
     ) AS counts
WHERE canaries.campaign_id = $1;

-- name: note_sent
UPDATE canaries SET sent_at = now() WHERE campaign_id = $1 AND sent_at IS NULL;

-- name: approve
UPDATE canaries SET approved_at = now() WHERE campaign_id = $1 AND approved_at IS NULL;

-- name: pass
UPDATE canaries SET passed_at = now() WHERE campaign_id = $1 AND passed_at IS NULL;

-- name: budget
-- Failures that count for the error budget: statuses report some after the attempt.
SELECT pause_at_failed, recipients,
       (SELECT coalesce(sum(failed), 0)::bigint FROM range_counters
        WHERE range_counters.campaign_id = campaigns.campaign_id) - failed_excused AS failed
FROM campaigns WHERE campaign_id = $1 AND pause_at_failed IS NOT NULL;

-- name: list_health
-- Recipients sent to, and those who failed with a first sample of their codes: $2 of them, which have the code $3. Nothing is
-- returned for a campaign with fewer than $4 failures, if a person accepted its failures, or if nobody is left to send to.
WITH counts AS (
    SELECT coalesce(sum(failed), 0)::bigint AS failed,
           coalesce(sum(accepted + sent + delivered + read + failed), 0)::bigint AS sent_to,
           coalesce(sum(pending + deferred), 0)::bigint AS unsent
    FROM range_counters
    WHERE campaign_id = (SELECT campaign_id FROM campaigns WHERE campaign_id = $1 AND failed_excused = 0))
SELECT sent_to, failed, sample.*
FROM counts,
     LATERAL (
         SELECT count(*) AS sampled, count(*) FILTER (WHERE code = $3) AS undeliverable
         FROM (SELECT outcomes.code
               FROM range_counters JOIN outcomes USING (range_id)
               WHERE range_counters.campaign_id = $1 AND range_counters.failed > 0
                 AND outcomes.reason IS NOT NULL AND (outcomes.kind = 2 OR outcomes.status = 3)
               LIMIT $2) AS codes) AS sample
WHERE counts.failed >= $4 AND counts.unsent > 0;

-- name: excuse_failures
UPDATE campaigns
SET failed_excused = (SELECT coalesce(sum(failed), 0)::bigint FROM range_counters
                      WHERE range_counters.campaign_id = campaigns.campaign_id)
WHERE campaign_id = $1;
