-- A database that went back in time forgot epochs that it gave, perhaps to processes that still live. No taking-over gets
-- one below this floor, so that none is given twice.
ALTER TABLE installation ADD COLUMN epoch_floor bigint NOT NULL DEFAULT 0;
