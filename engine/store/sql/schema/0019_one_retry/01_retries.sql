-- Law: a failed recipient is in one retry at a time. Two plans that run at once give the recipient the same number, and the
-- unique index refuses the second one.
ALTER TABLE retried_recipients
    ADD COLUMN retry_no integer NOT NULL DEFAULT 1;  -- of the earlier recipient, from 1. The next number is given only if every
                                                     -- retry so far skipped the recipient: it was cancelled, for example

-- Earlier versions could plan two retries at once. Both links stay, because each is looked at before a claim.
UPDATE retried_recipients AS retried
SET retry_no = numbered.retry_no
FROM (SELECT range_id, seq,
             row_number() OVER (PARTITION BY source_range_id, source_seq ORDER BY range_id, seq) AS retry_no
      FROM retried_recipients) AS numbered
WHERE retried.range_id = numbered.range_id AND retried.seq = numbered.seq AND numbered.retry_no > 1;

CREATE UNIQUE INDEX retried_recipients_one_retry ON retried_recipients (source_range_id, source_seq, retry_no);
DROP INDEX retried_recipients_source;
