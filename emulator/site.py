"""The protection of the control plane, which asks for no token, against requests from web pages of other
sites.

Law: a request that names a public host name is refused. The owner of such a name can let it resolve to this
machine; a browser then takes a page of that name and the emulator for one site (DNS rebinding).
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from drumbeat.emulator.errors import Refused
from drumbeat.http_server.parser import Headers

# Endings of names that cannot be registered. Containers and clusters use them, and names without a dot.
_PRIVATE = ("localhost", "local", "internal", "test")


def check_site(headers: Headers, served: str) -> None:
    """Refuse a request that a page of another site sends. `served`: the host that the emulator was started
    with.
    """
    asked = headers.get(b"host")
    if asked is None:
        return  # not a browser: each of them sends this header
    if headers.get(b"origin", b"http://" + asked) != b"http://" + asked:
        raise Refused(100, "the control plane takes nothing from a page of another site", 403)
    host = _host(asked.decode("latin-1"))
    if not _is_ours(host, served):
        details = (
            f'the control plane is not reached as "{host}": use its address, or serve with --host {host}'
        )
        raise Refused(100, details, 403)


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
