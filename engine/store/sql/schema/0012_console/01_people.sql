-- Who may use the console, and what it did for them. Laws of these tables:
--   * No secret is stored: passwords as argon2id, session cookies and tokens as their SHA-256. They are random, so a plain
--     hash is enough. Who reads the tables cannot sign in with what they hold.
--   * A role counts as it is at the time of a request: a change holds at once, also in open sessions.

-- People with a name of their own. While there is none, the console serves only this machine.
CREATE TABLE console_users (
    name          text        PRIMARY KEY,
    role          text        NOT NULL CHECK (role IN ('look', 'send', 'manage')),
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
    role       text        NOT NULL CHECK (role IN ('look', 'send', 'manage')),
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

-- `audit.action` has more values. Of the console: "sign-in", "sign-out", "user-add", "user-remove", "token-add",
-- "token-remove"; of any command: "create", "number-limit", "suppress-add", "suppress-remove". Where they concern no
-- campaign, `campaign_id` is NULL. `detail` has the name, number or count that they concern, never a phone of a recipient.
