-- The moment before which an owner must not write, because permits of former owners may still live. It outlives the
-- owner: whoever takes the number from an owner that ended inside its wait must keep the rest of that wait.
ALTER TABLE numbers ADD COLUMN no_send_before timestamptz;
