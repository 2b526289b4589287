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
    pricing         smallint,                        -- as in outcomes.pricing
    matches_tried   integer     NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
-- Which events are due, the longest waiting first?
CREATE INDEX inbox_due ON inbox (due_at);

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
    pricings         smallint[],
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
            coalesce(cardinality(codes), events), coalesce(cardinality(details), events),
            coalesce(cardinality(pricings), events)]))
) WITH (
    -- A queue: rows that were read are dead, and large values are dead pages of 2 KB.
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 10000,
    toast.autovacuum_vacuum_insert_threshold = -1);

-- Rows live for a moment: to compress them would cost more than to write them. (Postgres 15 takes no STORAGE in CREATE TABLE.)
ALTER TABLE inbox_groups
    ALTER range_ids SET STORAGE EXTERNAL, ALTER seqs SET STORAGE EXTERNAL, ALTER attempt_nos SET STORAGE EXTERNAL,
    ALTER epochs SET STORAGE EXTERNAL, ALTER statuses SET STORAGE EXTERNAL, ALTER status_us SET STORAGE EXTERNAL,
    ALTER wamids SET STORAGE EXTERNAL, ALTER phone_number_ids SET STORAGE EXTERNAL,
    ALTER recipients SET STORAGE EXTERNAL, ALTER codes SET STORAGE EXTERNAL, ALTER details SET STORAGE EXTERNAL,
    ALTER pricings SET STORAGE EXTERNAL;

-- When events of a number arrived. "No event" about an attempt in doubt means something only while others arrive.
CREATE TABLE event_flow (
    phone_number_id text PRIMARY KEY,
    last_event_at   timestamptz NOT NULL,
    flows_since     timestamptz NOT NULL DEFAULT '-infinity'  -- the end of the last gap: the service repeats later what
);                                                            -- nobody received in it

-- Messages that recipients wrote. If `sender` is no phone, but the id of a person, or empty, it becomes the recipient of the
-- message that this one quotes, once that message is known.
CREATE TABLE incoming_messages (
    wamid           text PRIMARY KEY,
    phone_number_id text,
    sender          text        NOT NULL,
    type            text        NOT NULL,
    sent_at         timestamptz NOT NULL,
    body            jsonb       NOT NULL,
    received_at     timestamptz NOT NULL DEFAULT now(),
    due_at          timestamptz,                     -- the sender's phone is looked for again then; NULL: no more
    matches_tried   integer     NOT NULL DEFAULT 0
);
-- What did this person write?
CREATE INDEX incoming_messages_sender ON incoming_messages (sender, sent_at);
-- Whose messages name nobody whom we know?
CREATE INDEX incoming_messages_untied ON incoming_messages (sent_at) WHERE sender !~ '^[0-9]{5,15}$';
-- What did people write last? (the list of replies)
CREATE INDEX incoming_messages_sent ON incoming_messages (sent_at, wamid);
-- Which messages answer this one? (report, replies) As for `outcomes`, the hash of the wamid is indexed.
CREATE INDEX incoming_messages_quoted ON incoming_messages (hashtextextended(body #>> '{context,id}', 0))
    WHERE body #>> '{context,id}' IS NOT NULL;
-- Whose sender is to be looked for?
CREATE INDEX incoming_messages_due ON incoming_messages (due_at) WHERE due_at IS NOT NULL;

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
-- Which account events are still to be acted on?
CREATE INDEX account_events_to_act ON account_events (received_at) WHERE acted_at IS NULL;
-- Is there a later event about the same subject?
CREATE INDEX account_events_subject ON account_events (subject, received_at);

-- Signed events that could not be read.
CREATE TABLE unreadable_events (
    event_key       text PRIMARY KEY,        -- hash of the body
    body            bytea       NOT NULL,
    problem         text        NOT NULL,
    phone_number_id text,                    -- a change for a number that we do not know: it is read again once the number is
                                             -- known, for 8 days; NULL: any other problem
    received_at     timestamptz NOT NULL DEFAULT now()
);
-- Requests to the callback that were refused, for a day: an event that waits at the service, or somebody else.
CREATE TABLE callback_refusals (
    reason  text        NOT NULL,
    minute  timestamptz NOT NULL,
    refused bigint      NOT NULL,
    PRIMARY KEY (reason, minute)
);
-- Which events are to be read again, now that this number is known?
CREATE INDEX unreadable_events_number ON unreadable_events (phone_number_id) WHERE phone_number_id IS NOT NULL;
