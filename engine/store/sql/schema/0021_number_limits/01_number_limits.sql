-- What a number may send: the messaging limit that was last understood, and bounds for its messages per second.

ALTER TABLE numbers ADD COLUMN known_tier text;  -- the last word for the messaging limit that was understood: it holds while
                                                 -- messaging_limit_tier is another word, or NULL
UPDATE numbers SET known_tier = messaging_limit_tier;  -- a word that is not understood counts as none

-- A rate outside these bounds once ended every sender. They are those of engine/core/pace/token_bucket.py. NaN, which is above
-- all numbers here, says nothing: the service's limit, or the default, holds.
UPDATE numbers
SET manual_limit_per_s = CASE WHEN manual_limit_per_s < 0.01 THEN 0.01 WHEN manual_limit_per_s <> 'NaN' THEN 100000 END
WHERE manual_limit_per_s NOT BETWEEN 0.01 AND 100000;
UPDATE numbers
SET service_limit_per_s = CASE WHEN service_limit_per_s < 0.01 THEN 0.01 WHEN service_limit_per_s <> 'NaN' THEN 100000 END
WHERE service_limit_per_s NOT BETWEEN 0.01 AND 100000;
ALTER TABLE numbers
    DROP CONSTRAINT numbers_manual_limit_per_s_check,
    DROP CONSTRAINT numbers_service_limit_per_s_check,
    ADD CONSTRAINT numbers_manual_limit_per_s_check CHECK (manual_limit_per_s BETWEEN 0.01 AND 100000),
    ADD CONSTRAINT numbers_service_limit_per_s_check CHECK (service_limit_per_s BETWEEN 0.01 AND 100000);
