-- What people are told, and how far each message came. Laws of these tables:
--   * A notification is written in the transaction that changes what it is about. So no change is forgotten, and none is
--     told that did not happen.
--   * One cause is one notification. If it occurs again within an hour, a single further notification waits until the hour
--     is over, and is deleted then unless the cause still holds.

CREATE TABLE notifications (
    notification_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    public_id       uuid        NOT NULL DEFAULT gen_random_uuid(),  -- receivers drop what they have seen by it
    event           text        NOT NULL,              -- a `NotificationEvent` of engine/core/notification.py
    campaign_id     bigint      REFERENCES campaigns ON DELETE CASCADE,  -- what it is about: a campaign,
    phone_number_id text,                                                -- or a number, or else the database
    subject         text        NOT NULL GENERATED ALWAYS AS (
        coalesce('campaign ' || campaign_id::text, 'number ' || phone_number_id, 'database')) STORED,
    state           text,                              -- of the campaign, after the change
    reason          text        NOT NULL,              -- words for people
    reason_code     text        NOT NULL DEFAULT '',   -- the same for programs; empty: none
    occurrence      integer     NOT NULL,              -- counts notifications of this subject, event and reason code
    happened_at     timestamptz NOT NULL DEFAULT now(),
    tell_at         timestamptz NOT NULL,              -- later than happened_at: the same was told within the last hour
    UNIQUE (subject, event, reason_code, occurrence)   -- of several processes that see a cause, one writes it
);

-- One row for each channel, also for those that nobody has set up. A channel that is set up later tells nothing older than
-- a day: its first round ends the older rows.
CREATE TABLE notification_deliveries (
    notification_id bigint      NOT NULL REFERENCES notifications ON DELETE CASCADE,
    channel         text        NOT NULL CHECK (channel IN ('webhook', 'mail')),
    state           text        NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'given_up')),
    attempts        integer     NOT NULL DEFAULT 0,    -- begun; counted before an attempt, as a process may be killed in it
    due_at          timestamptz NOT NULL,              -- of a waiting one. An attempt moves it ahead as a lease: if its
                                                       -- process is killed, another one delivers then
    problem         text,                              -- why the last attempt failed
    ended_at        timestamptz,                       -- when it was delivered or given up
    PRIMARY KEY (notification_id, channel)
);
-- What is due on this channel?
CREATE INDEX notification_deliveries_due ON notification_deliveries (channel, due_at) WHERE state = 'waiting';

-- What the service last said of numbers, templates and the account, so that a change is told once.
CREATE TABLE service_facts (
    subject text        NOT NULL,              -- a phone number ID, a template `name (language)`, or empty: the account
    fact    text        NOT NULL,              -- a `Fact` of engine/core/service_news.py
    word    text        NOT NULL,              -- the service's present word; empty: none
    told    text,                              -- the word that people know of
    since   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (subject, fact)
);
