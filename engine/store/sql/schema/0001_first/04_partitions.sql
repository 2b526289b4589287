-- A range id is day << 47 | 47 random bits, with the days counted from 2020-01-01. So a range's partition depends on the
-- day of its plan, never on the time of a later write. One partition holds a calendar month of days.

-- The lowest range id of a day.
CREATE FUNCTION first_range_id(day date) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (day - date '2020-01-01')::bigint << 47;

-- Makes the partitions of the month of a day; does nothing if they exist. Senders go on meanwhile: ATTACH only keeps others
-- from altering the parents, while CREATE ... PARTITION OF would lock them whole, in an order that can deadlock.
-- fill: room for HOT updates. Statuses rewrite outcomes; watermarks and counters change often.
CREATE FUNCTION create_partitions(day date) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    month_start date := date_trunc('month', day)::date;
    month_end   date := (date_trunc('month', day) + interval '1 month')::date;
    parent      text;
    partition   text;
    fill        integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('drumbeat.create_partitions', 0));
    FOR parent, fill IN
        VALUES ('ranges', 50), ('range_counters', 50), ('claims', 100), ('recipients', 100), ('outcomes', 50),
               ('pending_attempts', 70)
    LOOP
        partition := parent || to_char(month_start, '_YYYY_MM');
        CONTINUE WHEN to_regclass(partition) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES) WITH (fillfactor = %s)',
                       partition, parent, fill);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
                       parent, partition, first_range_id(month_start), first_range_id(month_end));
    END LOOP;
END
$$;
