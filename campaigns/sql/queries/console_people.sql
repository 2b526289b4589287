-- Users, sessions and tokens of the console, and its requests with a key.

-- name: form_key
-- A key of its own, made of the installation's: all consoles of a database take each other's forms.
SELECT sha256(convert_to('console forms', 'UTF8') || forgetting_key) FROM installation;

-- name: any_user
SELECT EXISTS (SELECT FROM console_users);

-- name: users
SELECT name, role, password_hash IS NOT NULL AS has_password, created_at,
       (SELECT count(*) FROM console_sessions WHERE user_name = name
        AND created_at > now() - $1 * interval '1 second' AND used_at > now() - $2 * interval '1 second') AS sessions
FROM console_users ORDER BY name;

-- name: user
SELECT name, role, password_hash FROM console_users WHERE name = $1;

-- name: store_user
-- A user who exists keeps what is not given.
INSERT INTO console_users AS known (name, role, password_hash) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE
SET role = excluded.role, password_hash = coalesce(excluded.password_hash, known.password_hash);

-- name: lock_managers
-- Two who remove each other at once must not both succeed.
SELECT name FROM console_users WHERE role = 'manage' ORDER BY name FOR UPDATE;

-- name: any_manager
SELECT EXISTS (SELECT FROM console_users WHERE role = 'manage');

-- name: rehash
-- The same password, hashed with newer parameters. A password that was changed meanwhile stays.
UPDATE console_users SET password_hash = $3 WHERE name = $1 AND password_hash = $2;

-- name: change_password
-- $2: the hash of the password that was shown to be known.
UPDATE console_users SET password_hash = $3 WHERE name = $1 AND password_hash = $2 RETURNING name;

-- name: end_other_sessions
DELETE FROM console_sessions WHERE user_name = $1 AND session_hash != $2;

-- name: remove_user
DELETE FROM console_users WHERE name = $1 RETURNING name;

-- name: end_sessions
DELETE FROM console_sessions WHERE user_name = $1;

-- name: begin_session
INSERT INTO console_sessions (session_hash, user_name) VALUES ($1, $2);

-- name: session
-- $2, $3: how long a session lasts at all, and without use.
SELECT name, role, used_at < now() - interval '1 minute' AS is_stale
FROM console_sessions JOIN console_users ON name = user_name
WHERE session_hash = $1
  AND console_sessions.created_at > now() - $2 * interval '1 second' AND used_at > now() - $3 * interval '1 second';

-- name: use_session
UPDATE console_sessions SET used_at = now() WHERE session_hash = $1;

-- name: end_session
DELETE FROM console_sessions WHERE session_hash = $1 RETURNING user_name;

-- name: remove_old
-- Sessions that have ended, and requests that nobody repeats any more.
WITH ended AS (
    DELETE FROM console_sessions
    WHERE created_at < now() - $1 * interval '1 second' OR used_at < now() - $2 * interval '1 second')
DELETE FROM console_requests WHERE begun_at < now() - $3 * interval '1 second';

-- name: tokens
SELECT name, role, created_at, made_by FROM console_tokens ORDER BY name;

-- name: token
SELECT name, role, made_by FROM console_tokens WHERE token_hash = $1;

-- name: add_token
INSERT INTO console_tokens (token_hash, name, role, made_by) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING RETURNING name;

-- name: remove_token
DELETE FROM console_tokens WHERE name = $1 RETURNING name;

-- name: begin_request
INSERT INTO console_requests (requester, idempotency_key, request_hash) VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING RETURNING begun_at;

-- name: known_request
SELECT request_hash, status, reply FROM console_requests WHERE requester = $1 AND idempotency_key = $2;

-- name: end_request
UPDATE console_requests SET status = $3, reply = $4 WHERE requester = $1 AND idempotency_key = $2;

-- name: forget_request
-- A refused request did nothing: it may be repeated, corrected, with the same key.
DELETE FROM console_requests WHERE requester = $1 AND idempotency_key = $2;

-- name: released_before
-- Whether the campaign was handed to the workers at any time, and what it is now.
SELECT started_at IS NOT NULL AS started, content_hash, state, options ->> 'test_of' IS NOT NULL AS is_test
FROM campaigns WHERE campaign_id = $1;

-- name: start_request
SELECT content_hash, asked_by, person, asked_at, approved_by FROM start_requests WHERE campaign_id = $1;

-- name: ask_start
INSERT INTO start_requests (campaign_id, content_hash, asked_by, person) VALUES ($1, $2, $3, $4)
ON CONFLICT (campaign_id) DO UPDATE
SET content_hash = $2, asked_by = $3, person = $4, asked_at = now(), approved_by = NULL, approved_at = NULL;

-- name: approve_start
UPDATE start_requests SET approved_by = $2, approved_at = now() WHERE campaign_id = $1;

-- name: lock_approval
-- Two people who ask at once take turns.
SELECT pg_advisory_xact_lock(hashtextextended('approval ' || $1::text || ' ' || $2::text, 0));

-- name: approval
SELECT content AS content_hash, asked_by, person, asked_at FROM approval_requests WHERE kind = $1 AND subject = $2;

-- name: ask_approval
INSERT INTO approval_requests (kind, subject, content, asked_by, person) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (kind, subject) DO UPDATE SET content = $3, asked_by = $4, person = $5, asked_at = now();

-- name: use_approval
DELETE FROM approval_requests WHERE kind = $1 AND subject = $2;
