"""Only the holder of the secret can sign, and only exactly these bytes."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.webhooks.signature import Verifier, sign


def test_a_known_signature() -> None:
    expected = "sha256=dc46983557fea127b43af721467eb9b3fde2338fe3e14f51952aa8478c13d355"
    assert sign(b"body", b"secret") == expected
    verify = Verifier(b"secret").verify
    assert verify(b"body", expected)
    assert verify(b"body", expected.encode())


@pytest.mark.parametrize("length", [1, 63, 64, 65, 128, 129])
def test_a_secret_of_any_length_signs_as_the_standard_says(length: int) -> None:
    secret = b"s" * length
    assert Verifier(secret).verify(b"body", sign(b"body", secret))


@pytest.mark.parametrize(
    "change", [str.upper, lambda header: header[7:], lambda header: f"sha1={header[7:]}"]
)
def test_a_signature_in_another_shape_is_none(change: Callable[[str], str]) -> None:
    assert not Verifier(b"secret").verify(b"body", change(sign(b"body", b"secret")))


# Secrets on both sides of the hash's block of 64 bytes, beyond which a key is hashed itself.
@given(
    body=st.binary(),
    secret=st.binary(min_size=1, max_size=200),
    header=st.one_of(st.none(), st.text(), st.binary()),
)
def test_nothing_else_passes(body: bytes, secret: bytes, header: str | bytes | None) -> None:
    verify = Verifier(secret).verify
    assert verify(body, sign(body, secret))
    assert not verify(body + b"x", sign(body, secret))
    assert not verify(body, header)
