-- Who sends what: the installation, the numbers, the templates, the campaigns.

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
    created_at        timestamptz NOT NULL DEFAULT now()
);

-- Business numbers. `epoch`, `owner` and `leased_until` are the lease of the number: each new owner commits epoch + 1.
CREATE TABLE numbers (
    phone_number_id      text PRIMARY KEY,   -- the service's id of the number
    display_phone_number text,               -- the next six: as the service listed them
    verified_name        text,
    quality_rating       text,
    messaging_limit_tier text,
    status               text,
    throughput_level     text,
    service_limit_per_s  double precision CHECK (service_limit_per_s > 0),  -- messages per second that the service grants
    manual_limit_per_s   double precision CHECK (manual_limit_per_s > 0),   -- a limit set by a person; it has precedence
    epoch                bigint      NOT NULL DEFAULT 0,    -- the fencing token of the present owner
    owner                text,                              -- host:pid:start, for people
    owner_process        jsonb,                             -- boot id, pid namespace, pid, start time: proves a death
    leased_until         timestamptz,                       -- the owner renews it; others take the number over after it
    released             boolean     NOT NULL DEFAULT true, -- the owner ended in order
    no_send_before       timestamptz,        -- claims of former owners may be valid until then. It outlives the owner:
                                             -- who takes the number over during the wait keeps the rest of it
    stopped              boolean     NOT NULL DEFAULT false,  -- the service stopped the number: only a person ends that
    suspended_until      timestamptz,        -- a rest that ends by itself
    suspended_reason     text,               -- why the number is stopped or suspended
    rate_per_s           double precision,   -- the pace that the owner allows now; each renewal sets it
    synced_at            timestamptz         -- when it was read from the service; NULL: to be read again
);

-- Message templates of the account. A campaign keeps its own copy.
CREATE TABLE templates (
    name        text        NOT NULL,
    language    text        NOT NULL,
    template_id text,                    -- the service's id
    status      text        NOT NULL,    -- APPROVED, PAUSED and so on, as the service says
    category    text,
    definition  jsonb       NOT NULL,    -- components and parameter_format, as the service lists them
    synced_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (name, language)
);

-- The suppression list: nothing is sent to these phones.
CREATE TABLE suppressions (
    phone    bigint PRIMARY KEY,         -- digits of E.164
    reason   text        NOT NULL,
    added_at timestamptz NOT NULL DEFAULT now()
);

-- Campaigns. engine/core/states.py has the table of states and events.
CREATE TABLE campaigns (
    campaign_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text        NOT NULL UNIQUE,
    external_id      text        UNIQUE,      -- a second name, given by the user's own system
    content_hash     text        NOT NULL,    -- of the audience file and all options: the same input again changes nothing
    options          jsonb       NOT NULL,    -- as the command line gave them
    state            text        NOT NULL DEFAULT 'draft'
        CHECK (state IN ('draft', 'scheduled', 'running', 'paused', 'finished', 'cancelled', 'expired')),
    reason           text        NOT NULL DEFAULT '',  -- why it is in this state, or does not send: words for people
    reason_code      text,                    -- the same for programs: a `ReasonCode` of engine/core/states.py; NULL: none
    template         jsonb       NOT NULL,    -- name, language and definition, frozen by the plan
    phone_number_ids text[]      NOT NULL,    -- the numbers that may send it
    on_unknown       text        NOT NULL DEFAULT 'hold'  -- what happens to recipients in doubt
        CHECK (on_unknown IN ('hold', 'resend-silent', 'resend')),
    window_opens     time,                    -- the daily sending window, in the wall time of time_zone; NULL: none
    window_closes    time,
    time_zone        text        NOT NULL DEFAULT 'UTC',
    start_at         timestamptz,             -- a scheduled campaign starts then
    expires_at       timestamptz,             -- nothing is sent after it
    max_failed       text,                    -- "N" or "N%": more failed recipients make the run incomplete
    audience_rows    bigint      NOT NULL DEFAULT 0,  -- rows of the file = rejected + duplicates + recipients
    rejected         bigint      NOT NULL DEFAULT 0,
    duplicates       bigint      NOT NULL DEFAULT 0,
    recipients       bigint      NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    planned_at       timestamptz,             -- NULL: its planning goes on, or was interrupted; the next create removes it
    started_at       timestamptz,
    finished_at      timestamptz              -- when it finished, was cancelled or expired
);

-- What each number did for a campaign, for reports. The number's owner adds to it with every batch of outcomes.
CREATE TABLE campaign_numbers (
    campaign_id      bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    phone_number_id  text   NOT NULL,
    limit_per_s      double precision NOT NULL,            -- the latest limit
    attempts         bigint NOT NULL DEFAULT 0,            -- requests written
    accepted         bigint NOT NULL DEFAULT 0,            -- requests that the service accepted
    throttled        bigint NOT NULL DEFAULT 0,            -- requests refused for pace: 130429 and 131056
    active_s         double precision NOT NULL DEFAULT 0,  -- time spent sending; a gap above one second counts as one
    cpu_s            double precision NOT NULL DEFAULT 0,  -- CPU time of the process, divided by attempts
    first_attempt_at timestamptz,
    last_attempt_at  timestamptz,
    PRIMARY KEY (campaign_id, phone_number_id)
);

-- The last batch of attempts that each results writer counted: a batch that is repeated after a lost COMMIT counts once.
-- One row for each start of a sending process; `db prune` removes old ones. Every batch rewrites it: fillfactor 50 keeps
-- the new version on the same page (HOT).
CREATE TABLE counted_batches (
    results_writer text        PRIMARY KEY,
    batch          bigint      NOT NULL,
    counted_at     timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- What people decided that cannot be taken back, and the counts of pruned months.
CREATE TABLE audit (
    audit_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now(),
    actor       text        NOT NULL,    -- who: a user name, or "policy"
    action      text        NOT NULL,    -- pause, resume, cancel, resend, assume-sent, prune
    campaign_id bigint,
    detail      jsonb       NOT NULL     -- how many recipients, and the like
);
