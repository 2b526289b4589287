"""Only the holder of the secret can sign, and only exactly these bytes."""

from hypothesis import given
from hypothesis import strategies as st

from engine.webhooks.signature import sign, verify


def test_a_known_signature() -> None:
    expected = "sha256=dc46983557fea127b43af721467eb9b3fde2338fe3e14f51952aa8478c13d355"
    assert sign(b"body", b"secret") == expected
    assert verify(b"body", expected, b"secret")
    assert verify(b"body", expected.encode(), b"secret")


@given(body=st.binary(), secret=st.binary(min_size=1), header=st.one_of(st.none(), st.text(), st.binary()))
def test_nothing_else_passes(body: bytes, secret: bytes, header: str | bytes | None) -> None:
    assert verify(body, sign(body, secret), secret)
    assert not verify(body + b"x", sign(body, secret), secret)
    assert not verify(body, header, secret)
