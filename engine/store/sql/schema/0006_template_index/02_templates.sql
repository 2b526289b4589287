-- An event may say that a template changed. A sending process then compares it with the campaigns.

ALTER TABLE templates
    ADD COLUMN compare_at timestamptz;  -- when a process may compare it with what campaigns froze; NULL: nothing to compare

-- Sending processes look every second, and nearly always find nothing.
CREATE INDEX templates_to_compare ON templates (compare_at) WHERE compare_at IS NOT NULL;
