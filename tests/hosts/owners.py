"""Notes which process each epoch of a number belongs to. The product's tables know only the present one."""

from drumbeat.engine.store.database import Connection
from tests.chaos.message import Owner

NOTES = """
CREATE TABLE hosts_owners (phone_number_id text, epoch bigint, process jsonb, PRIMARY KEY (phone_number_id, epoch));
CREATE FUNCTION hosts_note_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO hosts_owners VALUES (NEW.phone_number_id, NEW.epoch, NEW.owner_process);
    RETURN NULL;
END $$;
CREATE TRIGGER hosts_note_owner AFTER UPDATE ON numbers
    FOR EACH ROW WHEN (NEW.epoch > OLD.epoch) EXECUTE FUNCTION hosts_note_owner();
"""


async def note_owners(connection: Connection) -> None:
    """Note every owner from now on."""
    await connection.execute(NOTES)


async def owners(connection: Connection) -> dict[Owner, str]:
    """Return the process of each epoch."""
    rows = await connection.fetch("SELECT phone_number_id, epoch, process::text FROM hosts_owners")
    return {(row["phone_number_id"], row["epoch"]): row["process"] for row in rows}
