-- The progress of a campaign.

-- name: status
-- One campaign with its recipients by state: the sums of its range counters and of what the audit keeps of pruned months.
SELECT campaigns.name, campaigns.external_id, campaigns.state, campaigns.reason, campaigns.reason_code, campaigns.start_at, campaigns.started_at,
       campaigns.finished_at, campaigns.phone_number_ids, campaigns.template, campaigns.priority, campaigns.share_percent,
       campaigns.pause_at_failed, counts.*
FROM campaigns,
     LATERAL (
         SELECT coalesce(sum(recipients), 0)::bigint AS recipients, coalesce(sum(deferred), 0)::bigint AS deferred,
                coalesce(sum(accepted), 0)::bigint AS accepted, coalesce(sum(sent), 0)::bigint AS sent,
                coalesce(sum(delivered), 0)::bigint AS delivered, coalesce(sum(read), 0)::bigint AS read,
                coalesce(sum(failed), 0)::bigint AS failed, coalesce(sum(unknown), 0)::bigint AS unknown,
                coalesce(sum(skipped), 0)::bigint AS skipped,
                coalesce(sum(recipients) FILTER (WHERE pruned), 0)::bigint AS pruned_recipients,
                coalesce(sum(unknown) FILTER (WHERE pruned), 0)::bigint AS pruned_unknown
         FROM (
             SELECT false AS pruned, recipients, deferred, accepted, sent, delivered, read, failed, unknown, skipped
             FROM range_counters WHERE range_counters.campaign_id = campaigns.campaign_id
             UNION ALL
             SELECT true, kept.* FROM audit,
                 jsonb_to_record(audit.detail) AS kept (
                     recipients bigint, deferred bigint, accepted bigint, sent bigint, delivered bigint, read bigint,
                     failed bigint, unknown bigint, skipped bigint)
             WHERE audit.action = 'prune' AND audit.campaign_id = campaigns.campaign_id
         ) AS parts
     ) AS counts
WHERE campaigns.campaign_id = $1;
