-- A query of a person against a database that is not Drumbeat's own.

-- name: begin_reading
-- For this transaction. Its snapshot is taken here: all rows of the query are of this moment.
SELECT set_config('statement_timeout', $1, true), statement_timestamp() AS read_at;
