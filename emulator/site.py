"""Whose page asks: a browser sends what any page wants sent, and the control plane asks for no token.

Law: a name that anybody can own reaches nothing here. Its owner may let it lead to this machine; to a browser
the page of that name and the emulator are then one site.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from emulator.errors import Refused
from emulator.wire.connection import Headers

# Endings of names that nobody can register, as containers and clusters give them; so is a name without a dot.
_PRIVATE = ("localhost", "local", "internal", "test")


def check_site(headers: Headers, served: str) -> None:
    """Refuse what a page of another site sends. `served`: the name or address that we were told."""
    asked = headers.get(b"host")
    if asked is None:
        return  # each browser names one
    if headers.get(b"origin", b"http://" + asked) != b"http://" + asked:
        raise Refused(100, "the control plane takes nothing from a page of another site", 403)
    host = _host(asked.decode("latin-1"))
    if not _is_ours(host, served):
        told = f'the control plane is not reached as "{host}": use its address, or serve with --host {host}'
        raise Refused(100, told, 403)


def _host(asked: str) -> str:
    try:
        return (urlsplit(f"//{asked}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _is_ours(host: str, served: str) -> bool:
    if host == served.lower() or host.rpartition(".")[2] in _PRIVATE or (host and "." not in host):
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
