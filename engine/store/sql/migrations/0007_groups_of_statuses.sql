-- Status events as the receiver commits them: one row for up to a thousand. A row of its own for each event, with its entry
-- of an index and its deletion, was three tenths of what folding an event costs, and more than half of what storing one
-- costs. What needs a life of its own, an event that matched nothing yet, goes on in inbox.
-- One installation a row: whose events they are is known without looking into them. An array is an event's field, event
-- by event, so that the fold reads the few that a plain event needs; NULL where no event has the field.
CREATE TABLE inbox_groups (
    group_id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the fold takes the oldest
    received_at      timestamptz NOT NULL DEFAULT now(),
    installation     text,                     -- of the tags; NULL: no opaque data, '': some other program's
    events           integer     NOT NULL CHECK (events > 0),
    range_ids        bigint[],                 -- these four from the tag, where it came back
    seqs             integer[],
    attempt_nos            integer[],
    epochs           bigint[],
    statuses         smallint[]  NOT NULL,     -- ranks, as in outcomes.status
    status_us        bigint[]    NOT NULL,     -- microseconds since 1970
    wamids           text[]      NOT NULL,
    phone_number_ids text[],
    recipients       text[],
    codes            integer[],                -- error of a failed status
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
) WITH (  -- a queue: what is read is dead, and large values are dead pages of 2 KB
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 10000,
    toast.autovacuum_vacuum_insert_threshold = -1);

-- They live for a moment: to compress them would cost more than to write them.
ALTER TABLE inbox_groups
    ALTER range_ids SET STORAGE EXTERNAL, ALTER seqs SET STORAGE EXTERNAL, ALTER attempt_nos SET STORAGE EXTERNAL,
    ALTER epochs SET STORAGE EXTERNAL, ALTER statuses SET STORAGE EXTERNAL, ALTER status_us SET STORAGE EXTERNAL,
    ALTER wamids SET STORAGE EXTERNAL, ALTER phone_number_ids SET STORAGE EXTERNAL,
    ALTER recipients SET STORAGE EXTERNAL, ALTER codes SET STORAGE EXTERNAL, ALTER details SET STORAGE EXTERNAL;

-- The oldest groups, as many as hold `events_max` events together, the last of them perhaps beyond it. A loop, because it
-- ends with the last group that is needed: a running sum would read all that wait.
CREATE FUNCTION oldest_groups(events_max integer) RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
AS $$
DECLARE
    next_group record;
    group_ids  bigint[] := '{}';
    found_events bigint := 0;
BEGIN
    FOR next_group IN SELECT group_id, events FROM inbox_groups ORDER BY group_id LOOP
        EXIT WHEN found_events >= events_max;
        group_ids := group_ids || next_group.group_id;
        found_events := found_events + next_group.events;
    END LOOP;
    RETURN group_ids;
END
$$;

-- All that waits to be folded, event by event: for people, and for whoever counts. Reads all of it.
CREATE VIEW waiting_events AS
SELECT received_at, due_at, wamid, status, status_at, phone_number_id, recipient, installation, range_id, seq, attempt_no, epoch,
       code, detail, matches_tried
FROM inbox
UNION ALL
SELECT received_at, received_at, wamid, status, timestamptz 'epoch' + us * interval '1 microsecond', phone_number_id,
       recipient, installation, range_id, seq, attempt_no, epoch, code, detail, 0
FROM inbox_groups,
     unnest(wamids, statuses, status_us, phone_number_ids, recipients, range_ids, seqs, attempt_nos, epochs, codes, details)
         AS event (wamid, status, us, phone_number_id, recipient, range_id, seq, attempt_no, epoch, code, detail);
