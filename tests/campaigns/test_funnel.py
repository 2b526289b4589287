"""How far messages came: the steps, and why accepted messages may be more or fewer than people."""

from drumbeat.campaigns.results.funnel import accepted_beyond_people, funnel
from drumbeat.engine.core.states import RecipientState as S

COUNTS = dict.fromkeys(S, 0) | {S.ACCEPTED: 1, S.SENT: 2, S.DELIVERED: 4, S.READ: 8, S.FAILED: 16}


def test_it_counts_who_came_at_least_so_far() -> None:
    assert funnel(COUNTS, 20) == {S.ACCEPTED: 20, S.SENT: 14, S.DELIVERED: 12, S.READ: 8}


def test_a_message_whose_reply_was_lost_counts_once_its_status_came() -> None:
    assert funnel(COUNTS, 14)[S.ACCEPTED] == 15
    assert accepted_beyond_people(COUNTS, 14) == 0


def test_messages_that_failed_later_are_more_than_the_people_who_stand_as_accepted() -> None:
    assert accepted_beyond_people(COUNTS, 20) == 5
