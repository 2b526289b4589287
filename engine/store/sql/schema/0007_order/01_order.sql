-- The order of campaigns, and what stops one that fails: priority, share, canary, error budget.

ALTER TABLE campaigns
    ADD COLUMN priority        text    NOT NULL DEFAULT 'normal'  -- a number sends the higher priority first; urgent: a message
        CHECK (priority IN ('low', 'normal', 'high', 'urgent')),  -- to one person
    ADD COLUMN share_percent   integer CHECK (share_percent BETWEEN 1 AND 100),  -- of each number's rate, while campaigns of the
                                                                  -- same priority send through it; NULL: an even part
    ADD COLUMN pause_at_failed text,                              -- "N" or "N%": more failed recipients pause it; NULL: never
    ADD COLUMN failed_excused  bigint  NOT NULL DEFAULT 0;        -- failures that a person accepted with a resume: they do
                                                                  -- not count for pause_at_failed

-- The canary of a campaign: its first ranges, cut so that they hold the canary's recipients and nobody else. While
-- `passed_at` is NULL, numbers take no other range of the campaign (`take_range`): so the canary is exact, and survives
-- whatever is killed. A campaign without one has no row.
CREATE TABLE canaries (
    campaign_id    bigint           PRIMARY KEY REFERENCES campaigns ON DELETE CASCADE,
    recipients     integer          NOT NULL CHECK (recipients > 0),  -- how many it has
    ranges         integer          NOT NULL CHECK (ranges > 0),      -- the ranges with a lower ordinal are the canary's
    max_failed     text             NOT NULL,   -- "N" or "N%" of its recipients: more failures pause the campaign
    needs_approval boolean          NOT NULL,   -- whether a person has to approve, too
    wait_s         double precision NOT NULL,   -- how long its statuses are waited for, from `sent_at`
    sent_at        timestamptz,                 -- when nobody of it was left to send to; NULL: it is still being sent
    approved_at    timestamptz,                 -- when a person approved it; NULL: nobody did so far
    passed_at      timestamptz                  -- since when the rest is sent; NULL: only the canary is
);

-- `audit.action` has two more values: "approve" (of a canary), and "order", whose detail is the priority and the share.
