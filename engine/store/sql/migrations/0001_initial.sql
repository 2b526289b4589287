-- The whole of what Drumbeat knows. Law of the file:
--   * A range (about 1,000 recipients of one campaign, cut at plan time, never split) leads the key of every
--     large table, so that a range's recipients, watermark, outcomes and counts live together.
--   * Large tables (recipients, outcomes, pending_attempts, ranges, range counters) are partitioned by range_id. The high bits of a
--     range id are the day the campaign was planned, so old campaigns leave by dropping partitions, and a
--     partition is a function of the range, never of the time of writing.
--   * The claim side (ranges) and the fact side (range counters) are different rows: recording facts never waits for a
--     claim. Every transaction that writes facts locks the range counters of its ranges first, in range_id order.

-- One row: who this installation is. A changed system identifier or timeline means that the database went
-- back in time (a restored backup, a fail-over): what lies above the watermarks may have been sent since.
CREATE TABLE installation (
    singleton         boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    installation      text        NOT NULL CHECK (installation ~ '^[0-9a-z]{8}$'),
    system_identifier bigint      NOT NULL,
    timeline          bigint      NOT NULL,
    created_at        timestamptz NOT NULL DEFAULT now()
);

-- Business numbers. epoch, owner, leased_until are the lease: a taking-over commits epoch + 1.
CREATE TABLE numbers (
    phone_number_id       text PRIMARY KEY,
    display_phone_number  text,
    verified_name         text,
    quality_rating        text,
    messaging_limit_tier  text,
    status                text,
    throughput_level      text,
    service_limit_per_s   double precision CHECK (service_limit_per_s > 0), -- as the service grants it
    manual_limit_per_s    double precision CHECK (manual_limit_per_s > 0),  -- as a person set it; wins
    epoch                 bigint      NOT NULL DEFAULT 0,
    owner                 text,              -- host:pid:start, in words for people
    owner_process         jsonb,             -- boot id, pid namespace, pid, start time: proof of death
    leased_until          timestamptz,
    released              boolean     NOT NULL DEFAULT true,  -- the owner gave the number back cleanly
    suspended_until       timestamptz,
    suspended_reason      text,
    rate_per_s            double precision,  -- what the owner reaches now, told with each renewal
    synced_at             timestamptz
);

CREATE TABLE templates (
    name        text        NOT NULL,
    language    text        NOT NULL,
    template_id text,
    status      text        NOT NULL,
    category    text,
    definition  jsonb       NOT NULL,  -- components and parameter_format, as the service lists them
    synced_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (name, language)
);

CREATE TABLE suppressions (
    phone    bigint PRIMARY KEY,       -- digits of E.164
    reason   text        NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now()
);

-- States: draft -> scheduled -> running <-> paused -> finished; cancelled; expired.
-- planned_at NULL: planning was interrupted; the next create of that name removes it and plans anew.
CREATE TABLE campaigns (
    campaign_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name            text        NOT NULL UNIQUE,
    external_id     text        UNIQUE,
    content_hash    text        NOT NULL,   -- of the file and of all options: the same again changes nothing
    options         jsonb       NOT NULL,   -- as the command line gave them
    state           text        NOT NULL DEFAULT 'draft'
        CHECK (state IN ('draft', 'scheduled', 'running', 'paused', 'finished', 'cancelled', 'expired')),
    reason          text        NOT NULL DEFAULT '',
    template        jsonb       NOT NULL,   -- name, language, definition: frozen at plan time
    phone_number_ids text[]     NOT NULL,
    on_unknown      text        NOT NULL DEFAULT 'hold' CHECK (on_unknown IN ('hold', 'resend-silent', 'resend')),
    window_opens    time,                   -- daily sending window, wall time of time_zone
    window_closes   time,
    time_zone       text        NOT NULL DEFAULT 'UTC',
    start_at        timestamptz,
    expires_at      timestamptz,
    max_failed      text,                   -- "N" or "N%"
    audience_rows   bigint      NOT NULL DEFAULT 0,
    rejected        bigint      NOT NULL DEFAULT 0,
    duplicates      bigint      NOT NULL DEFAULT 0,
    recipients      bigint      NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL DEFAULT now(),
    planned_at      timestamptz,
    started_at      timestamptz,
    finished_at     timestamptz
);

-- What each number did for a campaign, for the report: kept by the number's owner with every batch of outcomes.
CREATE TABLE campaign_numbers (
    campaign_id      bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    phone_number_id  text   NOT NULL,
    limit_per_s      double precision NOT NULL,             -- the latest
    attempts         bigint NOT NULL DEFAULT 0,             -- requests written
    accepted         bigint NOT NULL DEFAULT 0,
    throttled        bigint NOT NULL DEFAULT 0,             -- 130429 and 131056 met
    active_s         double precision NOT NULL DEFAULT 0,   -- time spent sending; gaps above a second count as one
    cpu_s            double precision NOT NULL DEFAULT 0,   -- the process's CPU time, shared out by attempts
    first_attempt_at timestamptz,
    last_attempt_at  timestamptz,
    PRIMARY KEY (campaign_id, phone_number_id)
);

-- Claim side of a range. claimed_through: first attempts of seq 1..claimed_through are claimed. open -> done (nothing left to send)
-- or closed (cancelled, expired: what lies above the watermark is skipped). number, epoch: who may claim.
CREATE TABLE ranges (
    range_id        bigint      NOT NULL,
    campaign_id     bigint      NOT NULL,
    ordinal         integer     NOT NULL,      -- the campaign's order of sending
    last_seq              integer     NOT NULL CHECK (last_seq > 0),
    claimed_through            integer     NOT NULL DEFAULT 0 CHECK (claimed_through BETWEEN 0 AND last_seq),
    state           text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'closed')),
    closed_reason   text,
    phone_number_id text,                      -- NULL: free
    epoch           bigint      NOT NULL DEFAULT 0,
    due_at          timestamptz NOT NULL DEFAULT '-infinity',  -- nothing to do in it before
    PRIMARY KEY (range_id)
) PARTITION BY RANGE (range_id);
-- claim: the next free range of a campaign
CREATE INDEX ranges_free ON ranges (campaign_id, due_at, ordinal) WHERE state = 'open' AND phone_number_id IS NULL;
-- takeover, release: the ranges a number holds
CREATE INDEX ranges_held ON ranges (phone_number_id) WHERE phone_number_id IS NOT NULL;
-- cancel, finish, report: the ranges of a campaign
CREATE INDEX ranges_of_campaign ON ranges (campaign_id, ordinal);

-- Fact side of a range: recipients by present state. pending = recipients - the sum of the others.
CREATE TABLE range_counters (
    range_id    bigint  NOT NULL,
    campaign_id bigint  NOT NULL,
    recipients  integer NOT NULL,
    deferred    integer NOT NULL DEFAULT 0 CHECK (deferred >= 0),
    accepted    integer NOT NULL DEFAULT 0 CHECK (accepted >= 0),
    sent        integer NOT NULL DEFAULT 0 CHECK (sent >= 0),
    delivered   integer NOT NULL DEFAULT 0 CHECK (delivered >= 0),
    read        integer NOT NULL DEFAULT 0 CHECK (read >= 0),
    failed      integer NOT NULL DEFAULT 0 CHECK (failed >= 0),
    unknown     integer NOT NULL DEFAULT 0 CHECK (unknown >= 0),
    skipped     integer NOT NULL DEFAULT 0 CHECK (skipped >= 0),
    PRIMARY KEY (range_id)
) PARTITION BY RANGE (range_id);
-- status, report: sums over a campaign
CREATE INDEX range_counters_of_campaign ON range_counters (campaign_id);

-- Who claimed which first attempts: from from_seq up to the next row's from_seq of the range.
CREATE TABLE claims (
    range_id        bigint      NOT NULL,
    from_seq        integer     NOT NULL,
    epoch           bigint      NOT NULL,
    phone_number_id text        NOT NULL,
    claimed_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (range_id, from_seq, epoch)
) PARTITION BY RANGE (range_id);

-- Frozen by the plan, never updated. skip_reason: decided at plan time (suppressed).
CREATE TABLE recipients (
    range_id    bigint  NOT NULL,
    seq         integer NOT NULL,              -- 1..last_seq
    phone       bigint  NOT NULL,              -- digits of E.164
    variables   text[]  NOT NULL,              -- one per placeholder, in order
    line        bigint  NOT NULL,              -- line in the audience file
    skip_reason text,
    PRIMARY KEY (range_id, seq)                -- the feeder's page, and every join of the fact side
) PARTITION BY RANGE (range_id);

-- One row for each settled try: kind is what the attempt (or an event) told us; status is what the service said
-- later. status ranks: 1 accepted, 2 sent, 3 failed, 4 delivered, 5 read; NULL for kinds failed and skipped.
-- fillfactor: a status rewrites the row in its page (HOT), so status must never be indexed.
CREATE TABLE outcomes (
    range_id     bigint      NOT NULL,
    seq          integer     NOT NULL,
    attempt_no          integer     NOT NULL,
    epoch        bigint      NOT NULL,
    kind         smallint    NOT NULL,         -- 1 accepted, 2 failed (refused by the service), 3 skipped (by us)
    status       smallint,
    phone_number_id text     NOT NULL,
    wamid        text,
    code         integer,                      -- the service's error code
    reason       text,                         -- name of the failure or of the skip
    attempted_at timestamptz,
    sent_at      timestamptz,
    delivered_at timestamptz,
    read_at      timestamptz,
    failed_at    timestamptz,
    PRIMARY KEY (range_id, seq, attempt_no)
) PARTITION BY RANGE (range_id);
-- events without a tag, and a person who asks about one message
CREATE INDEX outcomes_wamid ON outcomes (wamid);
-- events without a tag: who was only assumed to be accepted, so that the event may be about them
CREATE INDEX outcomes_assumed ON outcomes (phone_number_id) WHERE kind = 1 AND wamid IS NULL;
-- report: failures by code
CREATE INDEX outcomes_failures ON outcomes (range_id, reason) WHERE reason IS NOT NULL;

-- Recipients whose current attempt is not settled and is more than a claimed_through: one row each.
--   deferred: certainly not accepted; waits until due_at     (rule: later attempts are claims of their own)
--   claimed:  try t is claimed by epoch and under way; counts as pending while that epoch holds the range
--   unknown:  claimed, no outcome, epoch gone or the reply lost: never sent again but by policy or a person's word
CREATE TABLE pending_attempts (
    range_id        bigint      NOT NULL,
    seq             integer     NOT NULL,
    attempt_no             integer     NOT NULL,      -- requests claimed so far, this one included
    state           text        NOT NULL CHECK (state IN ('deferred', 'claimed', 'unknown')),
    epoch           bigint      NOT NULL,
    phone_number_id text        NOT NULL,
    reason          text        NOT NULL,
    due_at          timestamptz NOT NULL DEFAULT now(),
    since           timestamptz NOT NULL DEFAULT now(),
    transient_failures smallint NOT NULL DEFAULT 0,  -- budget spent
    pair_throttles  smallint    NOT NULL DEFAULT 0,  -- budget spent
    unreachable     smallint    NOT NULL DEFAULT 0,  -- times the service could not be reached
    PRIMARY KEY (range_id, seq)
) PARTITION BY RANGE (range_id);
-- events without a tag, policies for doubts: the doubts of a number
CREATE INDEX pending_attempts_unknown ON pending_attempts (phone_number_id) WHERE state = 'unknown';

-- Status events between the receiver's commit and the fold. The fold deletes what it takes, in its own transaction,
-- so no cursor over ids can skip a late commit. Unmatched events wait here with a later due_at, for 8 days.
-- No key: an event is found by nothing but its being due, and writing one must cost little.
CREATE TABLE inbox (
    due_at          timestamptz NOT NULL DEFAULT now(),
    received_at     timestamptz NOT NULL DEFAULT now(),
    wamid           text        NOT NULL,
    status          smallint    NOT NULL,      -- rank, as in outcomes.status
    status_at       timestamptz NOT NULL,
    phone_number_id text,
    recipient       text,
    installation    text,                      -- of the tag; NULL: no opaque data, '': some other program's
    range_id        bigint,                    -- these four from the tag, where it came back
    seq             integer,
    attempt_no             integer,
    epoch           bigint,
    code            integer,                   -- error of a failed status
    detail          text,
    matches_tried   integer     NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);  -- a queue: what is read is dead
-- the fold takes what is due, oldest first
CREATE INDEX inbox_due ON inbox (due_at);

-- Every signed event that is not a status: kept, and acted on where acting is due.
CREATE TABLE incoming_messages (
    wamid           text PRIMARY KEY,
    phone_number_id text,
    sender          text        NOT NULL,
    type            text        NOT NULL,
    sent_at         timestamptz NOT NULL,
    body            jsonb       NOT NULL,
    received_at     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX incoming_messages_sender ON incoming_messages (sender, sent_at);  -- what did this person write

CREATE TABLE account_events (
    event_key   text PRIMARY KEY,              -- hash of field, value and time: a repeated event is one row
    field       text        NOT NULL,
    value       jsonb       NOT NULL,
    subject     text        NOT NULL,          -- what it is about: a template, a number
    occurred_at timestamptz,                   -- the service's time, where it gave one
    received_at timestamptz NOT NULL DEFAULT now(),
    acted_at    timestamptz
);
-- act: what has not been acted on, oldest first
CREATE INDEX account_events_to_act ON account_events (received_at) WHERE acted_at IS NULL;
-- is there a later event about the same
CREATE INDEX account_events_subject ON account_events (subject, received_at);

CREATE TABLE unreadable_events (
    event_key   text PRIMARY KEY,
    body        bytea       NOT NULL,
    problem     text        NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now()
);

-- When events of a number last flowed: without them silence about a doubt means nothing.
CREATE TABLE event_flow (
    phone_number_id text PRIMARY KEY,
    last_event_at   timestamptz NOT NULL
);

-- Everything a person decided that the service cannot take back.
CREATE TABLE audit (
    audit_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now(),
    actor       text        NOT NULL,
    action      text        NOT NULL,
    campaign_id bigint,
    detail      jsonb       NOT NULL
);
