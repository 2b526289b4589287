"""The embedded Postgres asks for no password, so its socket must keep others out."""

import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


def test_only_its_own_user_may_connect(server_url: str) -> None:
    """Also where the socket lies in a directory that everybody can enter, because the home's path is long."""
    (directory,) = parse_qs(urlsplit(server_url).query)["host"]
    (socket,) = (path for path in Path(directory).glob(".s.PGSQL.*") if path.suffix != ".lock")
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700
