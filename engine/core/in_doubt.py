"""When an attempt in doubt was probably not sent."""

# After this long without an event, while its number has others. The service reports nearly every status
# within a quarter of an hour.
SILENCE_S = 900.0
