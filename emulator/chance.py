"""The seeded chance: the fate of a recipient depends on the seed and the recipient, not on the order."""

from statistics import NormalDist

_MASK = (1 << 64) - 1
# Quantiles of the standard normal, so that a lognormal delay costs one look-up instead of a logarithm.
_QUANTILES = tuple(NormalDist().inv_cdf((step + 0.5) / 1024) for step in range(1024))


def mix(seed: int, value: int) -> int:
    """Return 64 well spread bits from a seed and a value (the splitmix64 finaliser)."""
    state = (seed * 0x9E3779B97F4A7C15 + value + 0x9E3779B97F4A7C15) & _MASK
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)


def share(seed: int, value: int) -> float:
    """Return a number in [0, 1) for this seed and value."""
    return mix(seed, value) / 2**64


def normal(bits: int) -> float:
    """Return a standard normal quantile picked by the ten lowest of `bits`."""
    return _QUANTILES[bits & 1023]
