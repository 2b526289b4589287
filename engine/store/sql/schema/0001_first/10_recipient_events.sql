-- What happened to recipients, for programs that want to hear of it. Laws of these tables:
--   * An event is noted in the transaction that changes the recipient. While there is no subscription, none is noted, and
--     nothing is paid for.
--   * Events get their numbers later, under one lock, from groups that are committed. So a reader that goes on after a number
--     misses nothing that is committed late. A writer notes events of a recipient under the lock of its range counters, after
--     what was noted before is committed. So the events of a recipient have their order.
--   * An event names its recipient by range and seq. Phones and ids of messages are read when the event is, so that a person
--     who is forgotten is forgotten here too.

-- A subscription of a program: where its events are posted, and how far.
CREATE TABLE subscriptions (
    name        text        PRIMARY KEY,
    url         text,                                 -- NULL: the program fetches its events itself
    secret      text,                                 -- signs what is posted
    campaign_id bigint      REFERENCES campaigns ON DELETE CASCADE,  -- NULL: of all campaigns
    kinds       smallint[],                           -- as in event_groups.kinds; NULL: all
    through_id  bigint      NOT NULL,                 -- the number of the last event that the program took
    taken       bigint      NOT NULL DEFAULT 0,       -- counts the takings: who took it before may change nothing any more
    attempts    integer     NOT NULL DEFAULT 0,       -- that failed since the last success
    due_at      timestamptz NOT NULL DEFAULT now(),   -- tried then. A sender moves it ahead as a lease
    problem     text,                                 -- why the last attempt failed; NULL: it did not
    lost        bigint      NOT NULL DEFAULT 0,       -- events that were deleted before the program took them
    created_at  timestamptz NOT NULL DEFAULT now(),
    CHECK ((url IS NULL) = (secret IS NULL))
);

-- Events as they were noted: one row for up to a thousand, each field an array with one element for each event.
CREATE TABLE event_groups (
    group_id  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    noted_at  timestamptz NOT NULL DEFAULT now(),
    last_id   bigint,                                 -- the number of its last event; NULL: its events have none yet
    events    integer     NOT NULL CHECK (events > 0),
    kinds     smallint[]  NOT NULL,                   -- 2 sent, 3 failed, 4 delivered, 5 read: as in outcomes.status; 9 opted out
    times     timestamptz[] NOT NULL,
    range_ids bigint[],                               -- the next three: NULL of people who opted out
    seqs      integer[],
    codes     integer[],
    phones    bigint[]                                -- of people who opted out; 0 of a forgotten one
);
-- Which events are numbered next?
CREATE INDEX event_groups_unnumbered ON event_groups (group_id) WHERE last_id IS NULL;
-- Which events follow a number?
CREATE UNIQUE INDEX event_groups_last_id ON event_groups (last_id);
-- In which groups may a person be who is to be forgotten?
CREATE INDEX event_groups_of_phones ON event_groups (group_id) WHERE phones IS NOT NULL;

-- Rows are written once or twice and live for days, but to compress them would slow those who note them.
ALTER TABLE event_groups
    ALTER kinds SET STORAGE EXTERNAL, ALTER times SET STORAGE EXTERNAL, ALTER range_ids SET STORAGE EXTERNAL,
    ALTER seqs SET STORAGE EXTERNAL, ALTER codes SET STORAGE EXTERNAL;

-- How far events are numbered, and through which number they are deleted.
CREATE TABLE event_numbering (
    one_row    boolean PRIMARY KEY DEFAULT true CHECK (one_row),
    last_id    bigint  NOT NULL DEFAULT 0,
    deleted_id bigint  NOT NULL DEFAULT 0
);
INSERT INTO event_numbering DEFAULT VALUES;

-- Notes events of recipients, in the order given, and returns how many. The caller holds the lock of the range counters, and
-- has asked whether there is a subscription.
CREATE FUNCTION note_events(
    range_ids bigint[], seqs integer[], kinds smallint[], times timestamptz[], codes integer[]
) RETURNS bigint
LANGUAGE sql AS $$
    WITH noted AS (
        INSERT INTO event_groups (events, range_ids, seqs, kinds, times, codes)
        SELECT count(*), array_agg(range_id ORDER BY place), array_agg(seq ORDER BY place), array_agg(kind ORDER BY place),
               array_agg(at ORDER BY place), array_agg(code ORDER BY place)
        FROM unnest($1, $2, $3, $4, $5) WITH ORDINALITY AS event (range_id, seq, kind, at, code, place)
        GROUP BY (place - 1) / 1000 ORDER BY (place - 1) / 1000
        RETURNING events)
    SELECT coalesce(sum(events), 0)::bigint FROM noted;
$$;

-- People who opted out are noted wherever the list gets its entry: by a message, a button, the app's menu, or the service's
-- reply. Entries of people and files are no opt-outs.
CREATE FUNCTION note_opt_outs() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM subscriptions) THEN
        INSERT INTO event_groups (events, kinds, times, phones)
        SELECT count(*), array_fill(9::smallint, ARRAY[count(*)::integer]), array_fill(now(), ARRAY[count(*)::integer]),
               array_agg(phone ORDER BY phone)
        FROM (SELECT phone, (row_number() OVER (ORDER BY phone) - 1) / 1000 AS part
              FROM added WHERE source IN ('word', 'button', 'service')) AS opted_out
        GROUP BY part ORDER BY part;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER suppressions_noted AFTER INSERT ON suppressions
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION note_opt_outs();
