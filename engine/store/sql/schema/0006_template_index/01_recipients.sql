-- A campaign may have several templates, such as one for each language: `campaigns.template` holds the first, and the others
-- under the key "others". See engine/core/campaign_template.py.

ALTER TABLE recipients
    ADD COLUMN template_index smallint NOT NULL DEFAULT 0;  -- which template of the campaign the recipient gets; 0: the first
