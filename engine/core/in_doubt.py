"""When an attempt in doubt was probably not sent."""

# If an attempt has no event for this long while its number has others, it was probably not sent. The service
# reports nearly every status within a quarter of an hour.
SILENCE_S = 900.0
