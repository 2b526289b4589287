-- Finding what concerns one person, over all campaigns.

-- In which ranges is this phone? (person show, person forget)
-- A Bloom filter for each 32 pages: 1.6 bytes a recipient instead of the 31 of a B-tree. A bare COPY loses up to a tenth of
-- its speed (a million rows, medians of three: 856,000 and 772,000/s). With a B-tree it lost a third, and wrote half as much
-- WAL again. A look reads all filters and a hundredth of the recipients: 6 to 9 ms for a million. Autovacuum makes the
-- filters of a new campaign in the background; pages without one are read.
-- A BRIN index takes no list of phones: a query must write `phone = $1 OR phone = $2`.
CREATE INDEX recipients_phone ON recipients
    USING brin (phone int8_bloom_ops (n_distinct_per_range = 2500, false_positive_rate = 0.01))
    WITH (pages_per_range = 32, autosummarize = on);

-- The spellings of one phone, as digits, itself first: the rule of engine/core/phone_aliases.py, which a test compares.
CREATE FUNCTION phone_spellings(phone bigint) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN phone::text ~ '^55[0-9]{2}9[6-9][0-9]{7}$' THEN ARRAY[phone::text, left(phone::text, 4) || right(phone::text, 8)]
    WHEN phone::text ~ '^55[0-9]{2}[6-9][0-9]{7}$' THEN ARRAY[phone::text, left(phone::text, 4) || '9' || right(phone::text, 8)]
    WHEN phone::text ~ '^52[0-9]{10}$' THEN ARRAY[phone::text, '521' || right(phone::text, 10)]
    WHEN phone::text ~ '^521[0-9]{10}$' THEN ARRAY[phone::text, '52' || right(phone::text, 10)]
    WHEN phone::text ~ '^54[0-9]{10}$' THEN ARRAY[phone::text, '549' || right(phone::text, 10)]
    WHEN phone::text ~ '^549[0-9]{10}$' THEN ARRAY[phone::text, '54' || right(phone::text, 10)]
    ELSE ARRAY[phone::text] END;

-- Of a forgotten person, hashes with this key replace the phone and the ids of the messages. So one person stays one in
-- counts, and a late status finds its attempt. Random: 244 bits.
ALTER TABLE installation
    ADD COLUMN forgetting_key bytea NOT NULL DEFAULT uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());

-- `audit.action` has one more value, "person-forget". Its `detail` has the pseudonym and what was erased, and no phone. A
-- recipient with a negative `phone` is forgotten: the phone is such a pseudonym, and `variables` is empty.
