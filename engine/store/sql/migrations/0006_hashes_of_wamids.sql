-- A wamid is long and random: its hash makes the index a quarter of the size, and an outcome cheaper to store.
-- Who looks for a wamid asks for its hash too. Outcomes cannot be stored while it is built: with many millions of them, stop
-- senders and receivers first.
CREATE INDEX outcomes_wamid_hash ON outcomes (hashtextextended(wamid, 0));
DROP INDEX outcomes_wamid;
