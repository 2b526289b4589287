-- Opt-outs that are no written word, and people whom an event names by one of our messages only.

-- The person stopped messages in the app's own menu (`user_preferences`). `resume` takes back exactly that: an entry with
-- source service goes; one with source word or button stays, and a word takes that back. No other source has this mark.
ALTER TABLE suppressions
    ADD COLUMN by_preference boolean NOT NULL DEFAULT false;

-- What the service said of people beside their messages. A repeated event is one row, so it changes nothing, whatever a person
-- did to the suppression list in between.
--   refused  a status of our message: failed with 131050
--   stop     the person stopped messages of a category; resume: took that back
--   changed  the person of `phone` has the number `new_phone` now
CREATE TABLE opt_out_events (
    event_key       text        PRIMARY KEY,         -- hash of what tells the event from any other
    kind            text        NOT NULL CHECK (kind IN ('refused', 'stop', 'resume', 'changed')),
    phone           bigint,                          -- of the person, once known; a negative one is a pseudonym
    wamid           text,                            -- of our message, which names the person
    range_id        bigint,                          -- the next two: the same, by our tag
    seq             integer,
    category        text,                            -- of stop and resume
    new_phone       bigint,                          -- of changed
    occurred_at     timestamptz NOT NULL,            -- the service's time
    received_at     timestamptz NOT NULL DEFAULT now(),
    due_at          timestamptz,                     -- the person is not known yet and looked for again then; NULL: no more
    matches_tried   integer     NOT NULL DEFAULT 0
);
-- Whose person is to be looked for?
CREATE INDEX opt_out_events_due ON opt_out_events (due_at) WHERE due_at IS NOT NULL;
-- What did the service say of this person?
CREATE INDEX opt_out_events_phone ON opt_out_events (phone) WHERE phone IS NOT NULL;

-- A message whose `sender` is no phone, but the id of a person, or empty. Its sender becomes the recipient of the message that
-- it quotes, once that message is known.
ALTER TABLE incoming_messages
    ADD COLUMN due_at        timestamptz,            -- the sender's phone is looked for again then; NULL: no more
    ADD COLUMN matches_tried integer NOT NULL DEFAULT 0;
CREATE INDEX incoming_messages_due ON incoming_messages (due_at) WHERE due_at IS NOT NULL;

-- A change that came for a number that we do not know: it is read again once the number is known, for 8 days.
ALTER TABLE unreadable_events
    ADD COLUMN phone_number_id text;                 -- NULL: any other problem
CREATE INDEX unreadable_events_number ON unreadable_events (phone_number_id) WHERE phone_number_id IS NOT NULL;

-- `audit.detail` of "opt-out" with `why` "changed number": a phone got the entry of the phone that its person had before.
