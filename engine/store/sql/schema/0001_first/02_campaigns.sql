-- Campaigns: what they send, in which order, what stops them, and what was done for them.

-- Message templates of the account. A campaign keeps its own copy.
CREATE TABLE templates (
    name          text        NOT NULL,
    language      text        NOT NULL,
    template_id   text,                  -- the service's id
    status        text        NOT NULL,  -- APPROVED, PAUSED and so on, as the service says
    status_reason text,                  -- why, such as the reason of a rejection. Only events tell it; NULL: the service named
                                         -- none
    category      text,
    definition    jsonb       NOT NULL,  -- components and parameter_format, as the service lists them
    synced_at     timestamptz NOT NULL DEFAULT now(),
    compare_at    timestamptz,           -- when a sending process may compare it with what campaigns froze, because an event
                                         -- said that it changed; NULL: nothing to compare
    PRIMARY KEY (name, language)
);
-- Which templates are to be compared? Sending processes ask every second, and nearly always find none.
CREATE INDEX templates_to_compare ON templates (compare_at) WHERE compare_at IS NOT NULL;

-- Campaigns. engine/core/states.py has the table of states and events.
--   draft      planned, or being planned; nothing is sent before a start
--   scheduled  starts at `start_at`
--   running    is sent
--   paused     is not sent until it is resumed
--   finished   nothing is left to send
--   cancelled  a person ended it; expired: `expires_at` ended it. What was not claimed is skipped
CREATE TABLE campaigns (
    campaign_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name             text        NOT NULL UNIQUE,
    external_id      text        UNIQUE,      -- a second name, given by the user's own system
    content_hash     text        NOT NULL,    -- of the audience file and all options: the same input again changes nothing
    options          jsonb       NOT NULL,    -- as given, by key; beside them the hashes of what files held
    retry_of         bigint      REFERENCES campaigns,  -- the campaign whose failed recipients this one sends to; NULL: none
    state            text        NOT NULL DEFAULT 'draft'
        CHECK (state IN ('draft', 'scheduled', 'running', 'paused', 'finished', 'cancelled', 'expired')),
    reason           text        NOT NULL DEFAULT '',  -- why it is in this state, or does not send: words for people
    reason_code      text,                    -- the same for programs: a `ReasonCode` of engine/core/states.py; NULL: none
    released_at      timestamptz NOT NULL DEFAULT now(),  -- when a person last let it send. The status of a message that was
                                              -- written before says nothing about the time after
    template         jsonb       NOT NULL,    -- name, language and definition, frozen by the plan. With several templates, such
                                              -- as one for each language, this is the first, and its key "others" holds the
                                              -- rest: engine/core/template/campaign_template.py
    phone_number_ids text[]      NOT NULL,    -- the numbers that may send it
    priority         text        NOT NULL DEFAULT 'normal'  -- a number sends the higher priority first; urgent: a message to
        CHECK (priority IN ('low', 'normal', 'high', 'urgent')),  -- one person
    share_percent    integer     CHECK (share_percent BETWEEN 1 AND 100),  -- of each number's rate, while campaigns of the same
                                              -- priority send through it; NULL: an even part
    on_unknown       text        NOT NULL DEFAULT 'hold'  -- what happens to recipients in doubt
        CHECK (on_unknown IN ('hold', 'resend-silent', 'resend')),
    max_failed       text,                    -- "N" or "N%": more failed recipients make the run incomplete
    pause_at_failed  text,                    -- "N" or "N%": more failed recipients pause it; NULL: never
    failed_excused   bigint      NOT NULL DEFAULT 0,  -- failures that a person accepted with a resume: they do not count for
                                              -- pause_at_failed
    time_zone        text        NOT NULL DEFAULT 'UTC',  -- of window and days; 'recipient': that of each recipient
    window_opens     time,                    -- the daily sending window; NULL: none
    window_closes    time,
    days             smallint[],              -- days of the week on which it sends, 0 is Monday; NULL: every day
    quiet_from       time,                    -- quiet hours, always in the recipient's time zone; NULL: none
    quiet_until      time,
    recipient_zones  text[],                  -- every value of `ranges.time_zones` of the campaign; NULL: no rule is in the
                                              -- recipient's time zone
    cap_messages     integer     CHECK (cap_messages > 0),  -- frequency cap: so many messages to a person
    cap_period_s     integer     CHECK (cap_period_s > 0),  -- in this time, of all campaigns; NULL: none
    start_at         timestamptz,             -- a scheduled campaign starts then
    expires_at       timestamptz,             -- nothing is sent after it
    audience_rows    bigint      NOT NULL DEFAULT 0,  -- rows of the file = rejected + duplicates + recipients
    rejected         bigint      NOT NULL DEFAULT 0,
    duplicates       bigint      NOT NULL DEFAULT 0,
    recipients       bigint      NOT NULL DEFAULT 0,
    created_at       timestamptz NOT NULL DEFAULT now(),
    planned_at       timestamptz,             -- NULL: its planning goes on, or was interrupted; the next create removes it
    started_at       timestamptz,
    finished_at      timestamptz              -- when it finished, was cancelled or expired
);

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

-- Local files that headers of messages show, as the plan of a campaign found them. A recipient's first variable is the
-- reference of a file, never the service's id of it: ids end after 30 days, and files are uploaded again before. Whoever
-- builds a message looks the id up in `uploads`.
CREATE TABLE campaign_files (
    campaign_id bigint NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    reference   text   NOT NULL,  -- the file as the audience, or the command line, names it
    path        text   NOT NULL,  -- the same, absolute
    sha256      text   NOT NULL,  -- of its content; a file that changed since is not uploaded again
    mime_type   text   NOT NULL,
    PRIMARY KEY (campaign_id, reference)
);

-- Uploads, for all campaigns: a content is uploaded once for each number, because a number sends only what it uploaded.
CREATE TABLE uploads (
    sha256          text        NOT NULL,
    mime_type       text        NOT NULL,
    phone_number_id text        NOT NULL,
    media_id        text,                  -- the service's id; NULL: it was never uploaded
    expires_at      timestamptz NOT NULL DEFAULT '-infinity',  -- of the id
    taken_until     timestamptz NOT NULL DEFAULT '-infinity',  -- a process is uploading it; others wait until then
    PRIMARY KEY (sha256, mime_type, phone_number_id)
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
    reply_counts     bigint[],                             -- how long a part of the replies took, in the buckets of
                                                           -- engine/core/reply_times.py
    PRIMARY KEY (campaign_id, phone_number_id)
);

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

-- The last batch of attempts that each results writer counted: a batch that is repeated after a lost COMMIT counts once.
-- One row for each start of a sending process; `db prune` removes old ones. Every batch rewrites it: fillfactor 50 keeps
-- the new version on the same page (HOT).
CREATE TABLE counted_batches (
    results_writer text        PRIMARY KEY,
    batch          bigint      NOT NULL,
    counted_at     timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- Failed statuses in a row, as `engine.core.refusal_runs` counts them: of a campaign through a number. NULL: of any.
CREATE TABLE status_failure_runs (
    campaign_id     bigint,
    phone_number_id text,
    failures        integer NOT NULL
);

-- Stops that the statuses of one batch asked for, as refused replies do. They are stored with the statuses, and carried out in
-- a transaction of their own: campaigns and numbers are locked before range counters, never after them.
CREATE TABLE status_stops (
    stop_id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    attempted_at      timestamptz NOT NULL,  -- of the last message that asked for it
    reason            text        NOT NULL,
    reason_code       text,                  -- of the campaigns that it pauses
    campaign_id       bigint,                -- it pauses this campaign; NULL, without a number: every campaign
    template_name     text,                  -- the next two: and every other campaign of this template
    template_language text,
    phone_number_id   text,                  -- it stops this number
    rest_until        timestamptz            -- the number rests until then; NULL: until a person resumes it
);

-- What people and programs did, and the counts of pruned months. No phone of a recipient stands in it.
CREATE TABLE audit (
    audit_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL DEFAULT now(),
    actor       text        NOT NULL,    -- a user, "token NAME" of a program, "policy", or "recipient" and "service" of opt-outs
    action      text        NOT NULL,    -- "pause", "resend", "opt-out", "number-resume", "sign-in" and so on
    campaign_id bigint,                  -- NULL: it concerns no campaign
    detail      jsonb       NOT NULL     -- the name, number, count or pseudonym that it concerns, and the like
);
-- What happened to a campaign? Opt-outs of recipients are audited without one, and may be millions.
CREATE INDEX audit_campaign ON audit (campaign_id) WHERE campaign_id IS NOT NULL;
