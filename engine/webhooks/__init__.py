"""The webhooks: signed events of the service are received, stored, and settle attempts in doubt."""
