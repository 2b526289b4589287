-- The installation, its business numbers, and what their senders share.

-- One row: this installation, and the server, database and table in which it was last seen.
-- If they differ from the present ones, the database was restored, copied or failed over (see `database_identity`).
CREATE TABLE installation (
    singleton         boolean     PRIMARY KEY DEFAULT true CHECK (singleton),         -- keeps the table at one row
    installation      text        NOT NULL CHECK (installation ~ '^[0-9a-z]{8}$'),  -- our name in the tag of every message
    system_identifier bigint      NOT NULL,            -- of the server, as its initdb chose it
    timeline          bigint      NOT NULL,            -- of the server's log; a promoted standby begins a new one
    database_oid      bigint,                          -- a copy on the same server has another one
    table_oid         bigint,                          -- of this table; a dump that was restored has another one
    epoch_floor       bigint      NOT NULL DEFAULT 0,  -- no number gets a lower epoch; raised when the database went back
    -- Hashes with this key replace the phone of a forgotten person and the ids of the messages. So one person stays one in
    -- counts, and a late status finds its attempt. Random: 244 bits.
    forgetting_key    bytea       NOT NULL DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()),
    created_at        timestamptz NOT NULL DEFAULT now()
);

-- Business numbers. `epoch`, `owner` and `leased_until` are the lease of the number: each new owner commits epoch + 1.
-- The bounds of a rate are those of engine/core/pace/token_bucket.py: a rate outside them ends every sender.
CREATE TABLE numbers (
    phone_number_id      text PRIMARY KEY,   -- the service's id of the number
    display_phone_number text,               -- the next six: as the service listed them
    verified_name        text,
    quality_rating       text,
    messaging_limit_tier text,
    status               text,
    throughput_level     text,
    known_tier           text,               -- the last word for the messaging limit that was understood: it holds while
                                             -- messaging_limit_tier is another word, or NULL
    service_limit_per_s  double precision    -- messages per second that the service grants
        CHECK (service_limit_per_s BETWEEN 0.01 AND 100000),
    manual_limit_per_s   double precision    -- a limit set by a person; it has precedence
        CHECK (manual_limit_per_s BETWEEN 0.01 AND 100000),
    epoch                bigint      NOT NULL DEFAULT 0,    -- the fencing token of the present owner
    owner                text,                              -- host:pid:start, for people
    owner_process        jsonb,                             -- boot id, pid namespace, pid, start time: proves a death
    only_campaign        bigint,                            -- the owner is a `campaign run` and sends this campaign alone;
                                                            -- NULL: it is a worker, or nobody
    leased_until         timestamptz,                       -- the owner renews it; others take the number over after it
    released             boolean     NOT NULL DEFAULT true, -- the owner ended in order
    no_send_before       timestamptz,        -- claims of former owners may be valid until then. It outlives the owner:
                                             -- who takes the number over during the wait keeps the rest of it
    stopped              boolean     NOT NULL DEFAULT false,  -- the service stopped the number: only a person ends that
    suspended_until      timestamptz,        -- a rest that ends by itself
    suspended_reason     text,               -- why the number is stopped or suspended
    rests_for_quota      boolean     NOT NULL DEFAULT false,  -- the rest is for the messaging limit: a new tier ends it
    resumed_at           timestamptz NOT NULL DEFAULT now(),  -- when a person last let it send. The status of a message that
                                             -- was written before says nothing about the time after
    rate_per_s           double precision,   -- the pace that the owner allows now; each renewal sets it
    achieved_per_s       double precision,   -- messages per second that the owner wrote lately, at most `rate_per_s` on
                                             -- average; each renewal sets it; NULL: no owner measured it
    slowed_since         timestamptz,        -- since when the owner sends slower, because the service throttled; NULL: the
                                             -- owner sends at the limit, or nobody owns the number
    synced_at            timestamptz,        -- when it was read from the service; NULL: to be read again
    unlisted_at          timestamptz         -- since when the account no longer lists it; NULL: the account lists it
);

-- The workers that send now, for dividing the numbers among them: engine/core/fair_share.py. `campaign run` has no row.
-- Each worker rewrites its row every second: fillfactor 50 keeps the new version on the same page (HOT). A worker that was
-- killed leaves its row behind; the next worker that starts removes it.
CREATE TABLE sending_processes (
    process    jsonb       PRIMARY KEY,   -- as `numbers.owner_process`: boot id, pid namespace, pid, start time
    wanted     text[]      NOT NULL,      -- the numbers that it may send with
    idle       text[]      NOT NULL DEFAULT '{}',  -- of its own numbers, those that could send and have nothing left to send
    live_until timestamptz NOT NULL       -- as long as a lease lasts. Once it has passed, the worker has ended or hangs, and
                                          -- its numbers are planned for the others
) WITH (fillfactor = 50);

-- The budget of management calls, which all processes of an installation share: a token bucket for each account.
-- The service allows 200 calls an hour to one app and account. engine/api/call_budget.py has the numbers.
CREATE TABLE management_calls (
    account     text             PRIMARY KEY,   -- the service's id of the business account
    level       double precision NOT NULL,      -- calls that count against the burst; it sinks evenly with time
    measured_at timestamptz      NOT NULL       -- when `level` was right
);

-- How much of their messaging limits the numbers have used: whom they wrote to in the last 24 hours, outside open
-- conversations. Only numbers with a limit have rows. Laws of the next two tables:
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
