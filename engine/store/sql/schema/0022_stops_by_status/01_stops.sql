-- Stops that failed statuses ask for, as refused replies do.

-- When a person last let it send. The status of a message that was written before says nothing about the time after.
ALTER TABLE campaigns ADD COLUMN released_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE numbers ADD COLUMN resumed_at timestamptz NOT NULL DEFAULT now();

-- Failed statuses in a row, as `engine.core.refusal_runs` counts them: of a campaign through a number. NULL: of any.
CREATE TABLE status_failure_runs (
    campaign_id     bigint,
    phone_number_id text,
    failures        integer NOT NULL
);

-- Stops that the statuses of one batch asked for. They are stored with the statuses, and carried out in a transaction of
-- their own: campaigns and numbers are locked before range counters, never after them.
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
