"""How many examples hypothesis tries: a third of them in `make test`, all in `make test-all`."""

from hypothesis import HealthCheck, settings

WHOLE, QUICK = 100, 33


def register_profiles() -> None:
    """Load the quick profile. `pytest --hypothesis-profile whole` loads the other one later."""
    for name, count in (("quick", QUICK), ("whole", WHOLE)):
        # An example may be slow on a busy machine: time is no verdict.
        settings.register_profile(
            name, max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        )
    settings.load_profile("quick")


def examples(whole: int) -> int:
    """This many in the whole profile, and fewer in the quick one."""
    return whole * settings().max_examples // WHOLE
