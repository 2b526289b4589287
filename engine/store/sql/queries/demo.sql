-- name: inbox_filled
-- Whether an event of the service still waits to be folded.
SELECT EXISTS (SELECT 1 FROM inbox) OR EXISTS (SELECT 1 FROM inbox_groups);
