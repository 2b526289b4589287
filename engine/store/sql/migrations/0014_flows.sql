-- When events of the number came again after a gap. The first of them says nothing of the silence before it: what nobody
-- received meanwhile, the service repeats later and later.
ALTER TABLE event_flow ADD COLUMN flows_since timestamptz NOT NULL DEFAULT '-infinity';
