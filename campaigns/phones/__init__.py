"""Phones: how they are spelt, which country and time zone they have, and to which nothing is sent."""
