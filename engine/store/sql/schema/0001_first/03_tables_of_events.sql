-- Events that the service sent to the webhook receiver.

-- Status events that wait by themselves: those that matched no attempt yet, for 8 days, each with a later due_at.
-- It is a queue: applying an event deletes its row, in the same transaction, so an event that is committed late is not
-- missed. The table has no key, because events are found only by due_at, and a row must cost little to write.
CREATE TABLE inbox (
    due_at          timestamptz NOT NULL DEFAULT now(),  -- to be matched again then
    received_at     timestamptz NOT NULL DEFAULT now(),
    wamid           text        NOT NULL,
    status          smallint    NOT NULL,            -- as in outcomes.status
    status_at       timestamptz NOT NULL,            -- the service's time
    phone_number_id text,
    recipient       text,                            -- digits, as the service writes them
    installation    text,                            -- of the tag; NULL: no opaque data; '': another program's data
    range_id        bigint,                          -- the next four: from the tag, if it came back
    seq             integer,
    attempt_no      integer,
    epoch           bigint,
    code            integer,                         -- the next two: the error of a failed status
    detail          text,
    matches_tried   integer     NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);

-- Status events as the receiver commits them: one row for up to a thousand. A row for each event, with its index entry and
-- its deletion, was three tenths of the cost of applying it and more than half of the cost of storing it.
-- A row holds events of one installation. Each field is an array with one element for each event, or NULL if no event has
-- the field; applying reads only the fields that it needs.
CREATE TABLE inbox_groups (
    group_id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the oldest are applied first
    received_at      timestamptz NOT NULL DEFAULT now(),
    installation     text,                           -- as in inbox
    events           integer     NOT NULL CHECK (events > 0),
    range_ids        bigint[],                       -- the next four: from the tags
    seqs             integer[],
    attempt_nos      integer[],
    epochs           bigint[],
    statuses         smallint[]  NOT NULL,           -- as in outcomes.status
    status_us        bigint[]    NOT NULL,           -- microseconds since 1970
    wamids           text[]      NOT NULL,
    phone_number_ids text[],
    recipients       text[],
    codes            integer[],                      -- the next two: errors of failed statuses
    details          text[],
    CONSTRAINT tags_are_whole CHECK (
        installation IS NULL OR installation = ''
        OR coalesce(array_position(range_ids, NULL), array_position(seqs, NULL), array_position(attempt_nos, NULL),
                    array_position(epochs, NULL)) IS NULL
           AND cardinality(range_ids) + cardinality(seqs) + cardinality(attempt_nos) + cardinality(epochs) IS NOT NULL),
    CONSTRAINT fields_are_of_all_events CHECK (
        events = ALL (ARRAY[
            coalesce(cardinality(range_ids), events), coalesce(cardinality(seqs), events),
            coalesce(cardinality(attempt_nos), events), coalesce(cardinality(epochs), events),
            cardinality(statuses), cardinality(status_us), cardinality(wamids),
            coalesce(cardinality(phone_number_ids), events), coalesce(cardinality(recipients), events),
            coalesce(cardinality(codes), events), coalesce(cardinality(details), events)]))
) WITH (
    -- A queue: rows that were read are dead, and large values are dead pages of 2 KB.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 10000,
    toast.autovacuum_vacuum_insert_threshold = -1);

-- Rows live for a moment: to compress them would cost more than to write them.
ALTER TABLE inbox_groups
    ALTER range_ids SET STORAGE EXTERNAL, ALTER seqs SET STORAGE EXTERNAL, ALTER attempt_nos SET STORAGE EXTERNAL,
    ALTER epochs SET STORAGE EXTERNAL, ALTER statuses SET STORAGE EXTERNAL, ALTER status_us SET STORAGE EXTERNAL,
    ALTER wamids SET STORAGE EXTERNAL, ALTER phone_number_ids SET STORAGE EXTERNAL,
    ALTER recipients SET STORAGE EXTERNAL, ALTER codes SET STORAGE EXTERNAL, ALTER details SET STORAGE EXTERNAL;

-- When events of a number arrived. "No event" about an attempt in doubt means something only while others arrive.
CREATE TABLE event_flow (
    phone_number_id text PRIMARY KEY,
    last_event_at   timestamptz NOT NULL,
    flows_since     timestamptz NOT NULL DEFAULT '-infinity'  -- the end of the last gap: the service repeats later what
);                                                            -- nobody received in it

-- Messages that recipients wrote.
CREATE TABLE incoming_messages (
    wamid           text PRIMARY KEY,
    phone_number_id text,
    sender          text        NOT NULL,
    type            text        NOT NULL,
    sent_at         timestamptz NOT NULL,
    body            jsonb       NOT NULL,
    received_at     timestamptz NOT NULL DEFAULT now()
);

-- Events about the account: templates, numbers, the account itself.
CREATE TABLE account_events (
    event_key   text PRIMARY KEY,        -- hash of field, value and time: a repeated event is one row
    field       text        NOT NULL,    -- the kind of the event
    value       jsonb       NOT NULL,
    subject     text        NOT NULL,    -- the template or number that it is about
    occurred_at timestamptz,             -- the service's time, if it gave one
    received_at timestamptz NOT NULL DEFAULT now(),
    acted_at    timestamptz              -- NULL: still to be acted on
);

-- Signed events that could not be read.
CREATE TABLE unreadable_events (
    event_key   text PRIMARY KEY,        -- hash of the body
    body        bytea       NOT NULL,
    problem     text        NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now()
);
