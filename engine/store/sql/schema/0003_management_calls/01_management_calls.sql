-- The budget of management calls, which all processes of an installation share: a token bucket for each account.
-- The service allows 200 calls an hour to one app and account. engine/api/call_budget.py has the numbers.
CREATE TABLE management_calls (
    account     text             PRIMARY KEY,   -- the service's id of the business account
    level       double precision NOT NULL,      -- calls that count against the burst; it sinks evenly with time
    measured_at timestamptz      NOT NULL       -- when `level` was right
);
