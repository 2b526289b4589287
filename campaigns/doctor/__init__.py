"""The checks of everything that sending needs. Each finding says what was found and what to do."""
