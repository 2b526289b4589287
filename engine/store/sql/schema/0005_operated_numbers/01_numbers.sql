-- What an operator asks of a number: how fast it sends, and whether the account still has it.

ALTER TABLE numbers
    ADD COLUMN achieved_per_s double precision,  -- messages per second that the owner wrote lately, at most `rate_per_s` on
                                                 -- average; each renewal of the lease sets it; NULL: no owner measured it
    ADD COLUMN unlisted_at    timestamptz;       -- since when the account no longer lists the number; NULL: it lists it

-- `audit.action` has one more value, "number-resume": a person let a stopped or suspended number send again. Its `detail` is
-- the number, the reason that no longer counts, and the command; its `campaign_id` is NULL.
