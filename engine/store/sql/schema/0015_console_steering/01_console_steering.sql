-- What the console needs to steer campaigns.

-- What did people write last? (the list of replies)
CREATE INDEX incoming_messages_sent ON incoming_messages (sent_at, wamid);

-- Where the console lets no campaign start without another person: who asked for the start, and who approved it.
CREATE TABLE start_requests (
    campaign_id  bigint      PRIMARY KEY REFERENCES campaigns ON DELETE CASCADE,
    content_hash text        NOT NULL,  -- of the campaign as it was asked for: whoever changes it has to ask again
    asked_by     text        NOT NULL,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    approved_by  text        CHECK (approved_by <> asked_by),  -- NULL: nobody yet
    approved_at  timestamptz
);

-- `audit.action` has two more values, "ask-start" and "approve-start".
