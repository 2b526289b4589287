"""The faults: each is a small object that changes an exchange or a status, at random by the seed."""
