-- How much of their messaging limits the numbers have used: whom they wrote to in the last 24 hours, outside open
-- conversations. Only numbers with a limit have rows. Laws of these tables:
--   * A person is counted, and that is committed, before the claim of the message. So a crash never leaves a message uncounted.
--   * Whoever changes the people of a scope holds the lock of its row in `quota_scopes`, and no other lock.

-- A messaging limit that is counted: of one number, or of the account (setting `quota_scope`).
CREATE TABLE quota_scopes (
    scope text    PRIMARY KEY,        -- the phone number ID, or "account"
    used  integer NOT NULL DEFAULT 0  -- the rows of `quota_people`: counting up to 100,000 of them for each claim is too slow
);

-- The people who are counted. A person leaves the count 24 hours and a margin after `counted_at`; the next claim removes the
-- row. The last three columns name the latest attempt: if the service certainly did not accept it, and no other attempt for
-- the person was claimed since, the row is removed at once.
CREATE TABLE quota_people (
    scope      text        NOT NULL,
    phone      bigint      NOT NULL,   -- digits of E.164, as in the file
    counted_at timestamptz NOT NULL,   -- the claim of the latest message
    range_id   bigint      NOT NULL,
    seq        integer     NOT NULL,
    attempt_no integer     NOT NULL,
    PRIMARY KEY (scope, phone)
);
-- Who leaves the count next?
CREATE INDEX quota_people_counted ON quota_people (scope, counted_at);

ALTER TABLE numbers
    ADD COLUMN rests_for_quota boolean NOT NULL DEFAULT false;  -- the rest until suspended_until is for the messaging limit: a
                                                                -- new tier ends it
