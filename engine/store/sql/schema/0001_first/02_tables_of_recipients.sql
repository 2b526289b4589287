-- Recipients and what became of them. Laws of these tables:
--   * A range holds about 1,000 recipients of one campaign. The plan cuts it, and it is never split. Its id leads every
--     key, so that a range's recipients, watermark, outcomes and counts lie together.
--   * All of them are partitioned by range_id, a month of plan days in each partition (see 04_partitions.sql). Old
--     campaigns leave by dropping partitions.
--   * Claims are written to `ranges`, facts to `range_counters`: recording a fact never waits for a claim. Every
--     transaction that writes facts first locks the range counters of its ranges, in the order of range_id.

-- A range, as claims see it: who may claim in it, and how far it is claimed.
CREATE TABLE ranges (
    range_id        bigint      NOT NULL,
    campaign_id     bigint      NOT NULL,
    ordinal         integer     NOT NULL,                       -- the order in which the campaign sends its ranges
    last_seq        integer     NOT NULL CHECK (last_seq > 0),  -- recipients are numbered 1..last_seq
    claimed_through integer     NOT NULL DEFAULT 0              -- the watermark: first attempts of 1..claimed_through
        CHECK (claimed_through BETWEEN 0 AND last_seq),         -- are claimed
    state           text        NOT NULL DEFAULT 'open'         -- done: nothing is left to send; closed: cancelled or
        CHECK (state IN ('open', 'done', 'closed')),            -- expired, what lies above the watermark is skipped
    closed_reason   text,                                       -- cancelled or expired
    phone_number_id text,                                       -- the number that holds it; NULL: free
    epoch           bigint      NOT NULL DEFAULT 0,             -- the fence: only this epoch of the number may claim
    due_at          timestamptz NOT NULL DEFAULT '-infinity',   -- a free range has nothing to do before
    PRIMARY KEY (range_id)
) PARTITION BY RANGE (range_id);

-- A range, as facts see it: how many of its recipients are in each state. Always equal to a count over `recipient_states`.
CREATE TABLE range_counters (
    range_id    bigint  NOT NULL,
    campaign_id bigint  NOT NULL,
    recipients  integer NOT NULL,                                   -- all of the range
    deferred    integer NOT NULL DEFAULT 0 CHECK (deferred >= 0),
    accepted    integer NOT NULL DEFAULT 0 CHECK (accepted >= 0),
    sent        integer NOT NULL DEFAULT 0 CHECK (sent >= 0),
    delivered   integer NOT NULL DEFAULT 0 CHECK (delivered >= 0),
    read        integer NOT NULL DEFAULT 0 CHECK (read >= 0),
    failed      integer NOT NULL DEFAULT 0 CHECK (failed >= 0),
    unknown     integer NOT NULL DEFAULT 0 CHECK (unknown >= 0),    -- in doubt
    skipped     integer NOT NULL DEFAULT 0 CHECK (skipped >= 0),
    pending     integer GENERATED ALWAYS AS (                       -- the rest: nothing is recorded of them yet
        recipients - deferred - accepted - sent - delivered - read - failed - unknown - skipped) STORED,
    PRIMARY KEY (range_id)
) PARTITION BY RANGE (range_id);

-- Who claimed which first attempts: those from from_seq up to the next row's from_seq of the range.
CREATE TABLE claims (
    range_id        bigint      NOT NULL,
    from_seq        integer     NOT NULL,
    epoch           bigint      NOT NULL,
    phone_number_id text        NOT NULL,
    claimed_at      timestamptz NOT NULL DEFAULT now(),  -- when the owner took the range
    PRIMARY KEY (range_id, from_seq, epoch)
) PARTITION BY RANGE (range_id);

-- The frozen audience: the plan writes it, nobody updates it.
CREATE TABLE recipients (
    range_id    bigint  NOT NULL,
    seq         integer NOT NULL,  -- 1..last_seq of the range
    phone       bigint  NOT NULL,  -- digits of E.164, as in the file
    variables   text[]  NOT NULL,  -- a value for each placeholder of the template, in order
    line        bigint  NOT NULL,  -- of the audience file
    skip_reason text,              -- the plan skipped the recipient: "suppressed"
    PRIMARY KEY (range_id, seq)
) PARTITION BY RANGE (range_id);

-- One row for each attempt that is settled: by the service's reply, by a status, by us, or by a person.
-- Up to three statuses rewrite a row. With half of each page free, 97 % of the new versions stay on their page (HOT); with
-- 40 % free it was 88 %, and statuses were applied a tenth slower. So `status` must never be indexed.
CREATE TABLE outcomes (
    range_id        bigint      NOT NULL,
    seq             integer     NOT NULL,
    attempt_no      integer     NOT NULL,  -- from 1; 0: settled before any attempt
    epoch           bigint      NOT NULL,  -- under which the attempt was claimed
    kind            smallint    NOT NULL,  -- 1 accepted, 2 failed (refused by the service), 3 skipped (by us)
    status          smallint,              -- of an accepted one: 1 accepted, 2 sent, 3 failed, 4 delivered, 5 read
    phone_number_id text        NOT NULL,
    wamid           text,                  -- the service's message id; NULL: assumed sent by a person
    code            integer,               -- the service's error code
    reason          text,                  -- why it failed or was skipped
    attempted_at    timestamptz,           -- when the request was written
    sent_at         timestamptz,           -- the next four: the service's times of these statuses
    delivered_at    timestamptz,
    read_at         timestamptz,
    failed_at       timestamptz,
    PRIMARY KEY (range_id, seq, attempt_no)
) PARTITION BY RANGE (range_id);

-- Recipients whose present attempt is not settled and is not covered by the watermark alone: one row each.
--   deferred  certainly not accepted, or in doubt and to be sent again; waits until due_at
--   claimed   the attempt is claimed by `epoch` and under way; counts as pending
--   unknown   in doubt: claimed, without an outcome, and its epoch is gone or its reply was lost. It is sent again only if
--             the campaign's policy or a person says so
CREATE TABLE pending_attempts (
    range_id           bigint      NOT NULL,
    seq                integer     NOT NULL,
    attempt_no         integer     NOT NULL,                -- requests claimed so far, this one included
    state              text        NOT NULL CHECK (state IN ('deferred', 'claimed', 'unknown')),
    epoch              bigint      NOT NULL,                -- under which the attempt was claimed
    phone_number_id    text        NOT NULL,
    reason             text        NOT NULL,                -- why it waits or is in doubt: words for people
    due_at             timestamptz NOT NULL DEFAULT now(),  -- of a deferred one: not before
    since              timestamptz NOT NULL DEFAULT now(),  -- in this state
    transient_failures smallint    NOT NULL DEFAULT 0,      -- the next three: budgets of retries that are spent
    pair_throttles     smallint    NOT NULL DEFAULT 0,
    unreachable        smallint    NOT NULL DEFAULT 0,
    resend             boolean     NOT NULL DEFAULT false   -- sends again to a recipient in doubt: an earlier attempt may
        CHECK (NOT resend OR state <> 'unknown'),           -- have been accepted
    PRIMARY KEY (range_id, seq)
) PARTITION BY RANGE (range_id);
