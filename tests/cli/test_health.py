"""`drumbeat health`: what a health check of a container learns."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from tests.cli.processes import Drumbeat, serving
from tests.kit.ports import free_port


def port_of(url: str) -> str:
    return str(urlsplit(url).port)


def test_a_receiver_that_can_store_events_is_ready(drumbeat: Drumbeat) -> None:
    with serving(drumbeat, "webhooks", "serve", "--port", "0") as url:
        assert drumbeat.ok("health", "--port", port_of(url)).stderr == ""


def test_nobody_who_listens_is_not_ready(drumbeat: Drumbeat) -> None:
    done = drumbeat("health", "--port", str(free_port()))
    assert done.exit_code == 69
    assert "no answer" in done.complaint


def test_the_reason_of_a_process_that_is_not_ready_is_shown(drumbeat: Drumbeat) -> None:
    with answering(503, b"the database does not answer") as port:
        done = drumbeat("health", "--port", str(port))
    assert done.exit_code == 69
    assert "not ready: 503 the database does not answer" in done.complaint


def test_a_path_without_its_slash_is_refused(drumbeat: Drumbeat) -> None:
    done = drumbeat("health", "--path", "readyz")
    assert done.exit_code == 2
    assert "must begin with /" in done.complaint


def test_a_wrong_setting_does_not_matter_to_it(tmp_path: Path) -> None:
    command = Drumbeat(tmp_path, {"base_url": "no url"})
    with answering(200, b"") as port:
        assert command("health", "--port", str(port)).exit_code == 0


@contextmanager
def answering(status: int, body: bytes) -> Iterator[int]:
    """A server of one answer; its port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/readyz"
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()
