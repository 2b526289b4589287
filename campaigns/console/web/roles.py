"""The roles of people and programs. Each role may do all that the one before it may."""

from enum import StrEnum


class Role(StrEnum):
    FIGURES = "figures"
    """See campaigns, results, numbers and templates, and nothing of a person: no phone, name or text."""
    LOOK = "look"
    """Also see people: recipients, messages, replies, the suppression list and the audit; change nothing."""
    SEND = "send"
    """Also create, steer and test what is sent, let numbers send again, suppress phones, submit templates,
    and read numbers and templates from the service.
    """
    MANAGE = "manage"
    """Also change limits, users and tokens, take phones off the suppression list, and erase people."""


_ORDER = tuple(Role)


def permits(role: Role, needed: Role) -> bool:
    """Return whether `role` may do an action that needs the role `needed`."""
    return _ORDER.index(role) >= _ORDER.index(needed)
