"""`drumbeat health`: ask a process whether it is ready, for the health checks of containers.

Law: it uses the standard library alone and reads no settings. A health check runs every few seconds.
"""

import http.client
from typing import Annotated

import typer

from drumbeat.engine.errors import Unreachable, UsageError

READY = 200
REPLY_S_MAX = 3.0
REASON_BYTES_MAX = 2_000

app = typer.Typer(add_completion=False)


@app.command()
def health(
    host: Annotated[str, typer.Option(help="Address of the process.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Its port: 9090 worker, 8080 receiver, 8083 console.", min=1, max=65535)
    ] = 9090,
    path: Annotated[str, typer.Option(help="What to ask for.")] = "/readyz",
) -> None:
    """Ask a process whether it is ready. Exit with 0 if it is, else with 69 and the reason."""
    if not path.startswith("/"):
        raise UsageError(f"--path must begin with /, not {path!r}")
    url = f"http://{host}:{port}{path}"
    try:
        status, reason = _ask(host, port, path)
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"no answer: {error}", where=url) from None
    if status != READY:
        raise Unreachable(f"not ready: {status} {reason}", where=url)


def _ask(host: str, port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(host, port, timeout=REPLY_S_MAX)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, reply.read(REASON_BYTES_MAX).decode(errors="replace")
    finally:
        connection.close()
