-- Who may use the console, and what it did for them. Laws of these tables:
--   * No secret is stored: passwords as argon2id, session cookies and tokens as their SHA-256. They are random, so a plain
--     hash is enough. Who reads the tables cannot sign in with what they hold.
--   * A role counts as it is at the time of a request: a change holds at once, also in open sessions.

-- People with a name of their own. While there is none, the console serves only this machine.
CREATE TABLE console_users (
    name          text        PRIMARY KEY,
    role          text        NOT NULL CHECK (role IN ('figures', 'look', 'send', 'manage')),
    password_hash text,                              -- argon2id, with its parameters; NULL: a trusted proxy signs this user in
    created_at    timestamptz NOT NULL DEFAULT now()
);

-- Sessions of browsers. One ends by itself: some time after its start, or sooner if it is not used.
CREATE TABLE console_sessions (
    session_hash bytea       PRIMARY KEY,            -- of the cookie
    user_name    text        NOT NULL REFERENCES console_users ON DELETE CASCADE,
    created_at   timestamptz NOT NULL DEFAULT now(),
    used_at      timestamptz NOT NULL DEFAULT now()  -- by a person, to the minute; an open stream does not count
);
-- Which sessions has a user? (a new password ends them)
CREATE INDEX console_sessions_user ON console_sessions (user_name);

-- Tokens of programs.
CREATE TABLE console_tokens (
    token_hash bytea       PRIMARY KEY,
    name       text        NOT NULL UNIQUE,          -- stands in the audit as "token NAME"
    role       text        NOT NULL CHECK (role IN ('figures', 'look', 'send', 'manage')),
    made_by    text,                                 -- a user, or an account of a machine. Whoever makes a token stands behind
                                                     -- it: a start that its program asked for needs another person still.
                                                     -- NULL: nobody knows any more
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Requests with an Idempotency-Key: the same request again gets the same reply, and nothing is done twice.
CREATE TABLE console_requests (
    requester       text        NOT NULL,            -- the user or token; a key belongs to who sent it
    idempotency_key text        NOT NULL,
    request_hash    bytea       NOT NULL,            -- of method, path and body: another request must not use the key
    status          smallint,                        -- of the reply; NULL: it is being worked on, or was interrupted
    reply           jsonb,
    begun_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (requester, idempotency_key)
);

-- Where the console lets no campaign start without another person: who asked for the start, and who approved it.
CREATE TABLE start_requests (
    campaign_id  bigint      PRIMARY KEY REFERENCES campaigns ON DELETE CASCADE,
    content_hash text        NOT NULL,  -- of the campaign as it was asked for: whoever changes it has to ask again
    asked_by     text        NOT NULL,
    person       text        NOT NULL,  -- who asked for the start, or who made the token of the program that asked
    asked_at     timestamptz NOT NULL DEFAULT now(),
    approved_by  text,                  -- NULL: nobody yet
    approved_at  timestamptz,
    CHECK (approved_by <> asked_by),
    CHECK (approved_by <> person)
);

-- Where the console lets nobody alone send to more people or faster: what somebody asked for, until another person does.
CREATE TABLE approval_requests (
    kind     text        NOT NULL,  -- resend, edit or limit
    subject  text        NOT NULL,  -- a campaign's id, or for a limit a number
    content  text        NOT NULL,  -- what was asked for: a request of something else replaces it
    asked_by text        NOT NULL,
    person   text        NOT NULL,  -- who asked, or who made the token of the program that asked
    asked_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, subject)
);
