-- How fast numbers sent for a campaign from its beginning, and since when one is slower than its limit.

-- What `campaign_numbers` held at some moments of a campaign that was sent. Samples get rarer with the age of the campaign
-- (`sample_rates` in rates.sql): a number has 200 after half an hour, and about 1,000 after a day. No foreign key: its check
-- would wait for whoever holds the campaign's row, in the loop that renews the leases. A draft, which alone is deleted, has none.
CREATE TABLE campaign_rates (
    campaign_id     bigint      NOT NULL,
    phone_number_id text        NOT NULL,
    at              timestamptz NOT NULL,
    attempts        bigint      NOT NULL,
    throttled       bigint      NOT NULL,
    PRIMARY KEY (campaign_id, phone_number_id, at)
);

-- NULL: the owner sends at the limit, or nobody owns the number.
ALTER TABLE numbers ADD COLUMN slowed_since timestamptz;  -- since when the owner sends slower, because the service throttled

-- What happened to a campaign? Opt-outs of recipients are audited too, without a campaign, and may be millions.
CREATE INDEX audit_campaign ON audit (campaign_id) WHERE campaign_id IS NOT NULL;
