-- name: has_events
-- Whether a status event still waits to be applied.
SELECT EXISTS (SELECT 1 FROM inbox) OR EXISTS (SELECT 1 FROM inbox_groups);
