-- Whoever makes a token stands behind it: a start that its program asked for needs another person still.

ALTER TABLE console_tokens ADD COLUMN made_by text;  -- a user, or an account of a machine; NULL: nobody knows any more
UPDATE console_tokens SET made_by = (
    SELECT actor FROM audit WHERE action = 'token-add' AND detail ->> 'token' = console_tokens.name
    ORDER BY audit_id DESC LIMIT 1);

-- Who asked for the start, or who made the token of the program that asked.
ALTER TABLE start_requests ADD COLUMN person text;
UPDATE start_requests SET person = coalesce(
    (SELECT made_by FROM console_tokens WHERE 'token ' || name = asked_by), asked_by);
UPDATE start_requests SET approved_by = NULL, approved_at = NULL WHERE approved_by = person;  -- it was one person after all
ALTER TABLE start_requests ALTER COLUMN person SET NOT NULL, ADD CHECK (approved_by <> person);
