-- Partitions are made and attached beside senders: CREATE ... PARTITION OF keeps everybody from the parents until its
-- transaction ends, and deadlocks with whoever locks them in another order; ATTACH only keeps others from altering them.
CREATE OR REPLACE FUNCTION create_partitions(day date) RETURNS void
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
        VALUES ('ranges', 50), ('range_counters', 50), ('claims', 100), ('recipients', 100), ('outcomes', 50), ('pending_attempts', 70)
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
