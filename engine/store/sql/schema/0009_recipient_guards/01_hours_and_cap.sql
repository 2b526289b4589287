-- What forbids a message to one recipient: the hours and days of the recipient, and the frequency cap.

-- campaigns.time_zone may be 'recipient': then the window and the days are in the time zone of each recipient.
ALTER TABLE campaigns
    ADD COLUMN days            smallint[],   -- days of the week on which it sends, 0 is Monday; NULL: every day
    ADD COLUMN quiet_from      time,         -- quiet hours, always in the recipient's time zone; NULL: none
    ADD COLUMN quiet_until     time,
    ADD COLUMN recipient_zones text[],       -- every value of `ranges.time_zones` of the campaign; NULL: no rule is in the
                                             -- recipient's time zone
    ADD COLUMN cap_messages    integer CHECK (cap_messages > 0),  -- frequency cap: so many messages to a person
    ADD COLUMN cap_period_s    integer CHECK (cap_period_s > 0);  -- in this time, of all campaigns; NULL: none

-- All recipients of a range have the same time zones. So a range waits as a whole: no row of a recipient is written for it.
ALTER TABLE ranges
    ADD COLUMN time_zones text,              -- the zones that must all allow sending, divided by commas; NULL: no rule
    ADD COLUMN waits_for  text;              -- why a free range with a due_at in the future waits: words for people
