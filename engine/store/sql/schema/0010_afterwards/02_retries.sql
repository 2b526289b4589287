-- Campaigns that send once more to those whom another campaign did not reach.

ALTER TABLE campaigns
    ADD COLUMN retry_of bigint REFERENCES campaigns;  -- the campaign whose failed recipients this one sends to; NULL: none

-- For each recipient of such a campaign, the recipient of the earlier one. Before each claim the earlier one is looked at
-- again: if it is no longer failed, nothing is sent.
CREATE TABLE retried_recipients (
    range_id        bigint  NOT NULL,
    seq             integer NOT NULL,
    source_range_id bigint  NOT NULL,
    source_seq      integer NOT NULL,
    PRIMARY KEY (range_id, seq)
);
-- Does another campaign already send to this recipient again? (planning a retry)
CREATE INDEX retried_recipients_source ON retried_recipients (source_range_id, source_seq);
