-- The workers that send now, for dividing the numbers among them: engine/core/fair_share.py. `campaign run` has no row.
-- Each worker rewrites its row every second: fillfactor 50 keeps the new version on the same page (HOT). A worker that was
-- killed leaves its row behind; the next worker that starts removes it.
CREATE TABLE sending_processes (
    process    jsonb       PRIMARY KEY,   -- as `numbers.owner_process`: boot id, pid namespace, pid, start time
    wanted     text[]      NOT NULL,      -- the numbers that it may send with
    idle       text[]      NOT NULL DEFAULT '{}',  -- of its own numbers, those that could send and have nothing left to send
    live_until timestamptz NOT NULL       -- as long as a lease lasts. Once it has passed, the worker has ended or hangs, and
                                          -- its numbers are planned for the others
) WITH (fillfactor = 50);
