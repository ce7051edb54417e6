"""A server for data sets, and the shared data where it is there."""

from __future__ import annotations

import http.server
import itertools
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from torelli import DataNotFoundError
from torelli.datasets.storage import shared_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def no_data(tmp_path, monkeypatch) -> Path:
    """Hide the shared data, and put the user's cache into a folder of the test, which is returned."""
    monkeypatch.setenv("TORELLI_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("torelli.datasets.tu.data_folders", lambda: [tmp_path / "nothing"])
    return tmp_path / "cache" / "torelli"


class Server:
    """A web server on loopback whose answers a test writes: (status, body, announced length) each."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes, int]] = []
        self.paths: list[str] = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.paths.append(self.path)
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                status, body, announced = answer
                self.send_response(status)
                self.send_header("Content-Length", str(announced))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Keep the output of the tests clean."""

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._http.server_port}"

    def answer(self, body: bytes, *, status: int = 200, announced: int | None = None) -> None:
        """Add an answer; the last one is repeated."""
        self.answers.append((status, body, len(body) if announced is None else announced))

    def stop(self) -> None:
        """End the server and its thread."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    """Return a server on loopback; pauses between attempts are recorded and not slept."""
    monkeypatch.setattr("torelli.datasets.storage.time.sleep", lambda _: None)
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def clock(monkeypatch) -> Callable[[float], None]:
    """Return a function that makes lines of progress see some seconds pass between any two looks."""

    def tick(seconds: float) -> None:
        times = itertools.count(step=seconds)
        monkeypatch.setattr("torelli._numerics.threads.time", SimpleNamespace(monotonic=lambda: next(times)))

    return tick


@pytest.fixture
def shared() -> Callable[..., Path]:
    """Return a function that finds shared data, and skips the test where it is missing."""

    def find(*parts: str) -> Path:
        try:
            return shared_data(*parts)
        except DataNotFoundError:
            return pytest.skip(f"the shared data has no {'/'.join(parts)} here: set TORELLI_DATA")

    return find


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return an empty folder for the collections, which is all that is looked at, without a network."""
    monkeypatch.setenv("TORELLI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"
