-- Recipients and what became of them. Laws of the partitioned tables:
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
    waits_for       text,                                       -- why a free range with a due_at in the future waits: words
                                                                -- for people
    time_zones      text,                                       -- the zones that must all allow sending, divided by commas;
                                                                -- NULL: no rule. All recipients of a range have the same: so
                                                                -- a range waits as a whole, and writes no row of a recipient
    PRIMARY KEY (range_id)
) PARTITION BY RANGE (range_id);
-- Which range of a campaign is free? (taking a range)
CREATE INDEX ranges_free ON ranges (campaign_id, due_at, ordinal) WHERE state = 'open' AND phone_number_id IS NULL;
-- Which ranges does a number hold? (taking over, releasing)
CREATE INDEX ranges_held ON ranges (phone_number_id) WHERE phone_number_id IS NOT NULL;
-- Which ranges has a campaign? (cancel, finish, report)
CREATE INDEX ranges_of_campaign ON ranges (campaign_id, ordinal);

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
-- How many recipients of a campaign are in which state? (status, report)
CREATE INDEX range_counters_of_campaign ON range_counters (campaign_id);

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
    range_id       bigint   NOT NULL,
    seq            integer  NOT NULL,            -- 1..last_seq of the range
    template_index smallint NOT NULL DEFAULT 0,  -- which template of the campaign the recipient gets; 0: the first
    phone          bigint   NOT NULL,            -- digits of E.164, as in the file; of a forgotten person a negative pseudonym
    variables      text[]   NOT NULL,            -- a value for each placeholder of the template, in order; empty of a forgotten
                                                 -- person
    line           bigint   NOT NULL,            -- of the audience file
    skip_reason    text,                         -- the plan skipped the recipient: "suppressed"
    PRIMARY KEY (range_id, seq)
) PARTITION BY RANGE (range_id);
-- In which ranges is this phone? (person show, person forget)
-- A Bloom filter for each 32 pages: 1.6 bytes a recipient instead of the 31 of a B-tree. A bare COPY loses up to a tenth of
-- its speed (a million rows, medians of three: 856,000 and 772,000/s). With a B-tree it lost a third, and wrote half as much
-- WAL again. A look reads all filters and a hundredth of the recipients: 6 to 9 ms for a million. Autovacuum makes the
-- filters of a new campaign in the background; pages without one are read.
-- A BRIN index takes no list of phones: a query must write `phone = $1 OR phone = $2`.
CREATE INDEX recipients_phone ON recipients
    USING brin (phone int8_bloom_ops (n_distinct_per_range = 2500, false_positive_rate = 0.01))
    WITH (pages_per_range = 32, autosummarize = on);

-- For each recipient of a retry (`campaigns.retry_of`), the recipient of the earlier campaign. Before each claim the earlier
-- one is looked at again: if it is no longer failed, nothing is sent. Law: a failed recipient is in one retry at a time. Two
-- plans that run at once give the recipient the same number, and the unique index refuses the second one.
CREATE TABLE retried_recipients (
    range_id        bigint  NOT NULL,
    seq             integer NOT NULL,
    source_range_id bigint  NOT NULL,
    source_seq      integer NOT NULL,
    retry_no        integer NOT NULL DEFAULT 1,  -- of the earlier recipient, from 1. The next number is given only if every
                                                 -- retry so far skipped the recipient: it was cancelled, for example
    PRIMARY KEY (range_id, seq)
);
-- Does another campaign already send to this recipient again? (planning a retry)
CREATE UNIQUE INDEX retried_recipients_one_retry ON retried_recipients (source_range_id, source_seq, retry_no);

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
    pricing         smallint,              -- what the service charges for, as its statuses say: 2 * category + 1 if the message
                                           -- is billable, by the table of engine/core/pricing.py; NULL: no status said so
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
-- Which attempt has this wamid? (events without a tag, and people who ask about one message)
-- A wamid is long and random: indexing its hash makes the index a quarter of the size, and storing an outcome cheaper.
-- A query must compare the hash and the wamid.
CREATE INDEX outcomes_wamid_hash ON outcomes (hashtextextended(wamid, 0));
-- Which attempts of a number are only assumed to be accepted? (an event without a tag may be about them)
CREATE INDEX outcomes_assumed ON outcomes (phone_number_id) WHERE kind = 1 AND wamid IS NULL;
-- Why did recipients fail or get skipped? (report)
CREATE INDEX outcomes_failures ON outcomes (range_id, reason) WHERE reason IS NOT NULL;

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
-- Which attempts of a number are in doubt? (events without a tag, policies)
CREATE INDEX pending_attempts_unknown ON pending_attempts (phone_number_id) WHERE state = 'unknown';
