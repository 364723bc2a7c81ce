"""Web downloads are complete or absent, resume after an interruption, and are refused if they do not match."""

import hashlib
import re
import resource
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from data_packages import MakeTask

from assay.core.disk import hash_file
from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.data.sources import http
from assay.tasks.model import WebFile

CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
COPY = """
def prepare(job):
    (job.public / "a.txt").write_bytes((job.raw / "deep/data.bin").read_bytes())
    (job.private / "answers.csv").write_text("secret")
"""


class Server(ThreadingHTTPServer):
    """A loopback web server, with the ways in which it misbehaves."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.version = '"one"'
        self.status: int | None = None
        self.pieces: list[int] = []  # for each response, how many bytes are sent before the connection drops
        self.ranges = True
        self.announced: int | None = None
        self.asked: list[str] = []

    def file(self, path: str = "/data.bin", **facts: object) -> WebFile:
        host, port = self.server_address[:2]
        return WebFile.model_validate({"url": f"http://{host!s}:{port}{path}", "file": "deep/data.bin", **facts})


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server, asked = self.server, self.headers["Range"]
        server.asked.append(f"{self.path} {asked or 'whole'}")
        if self.path == "/moved":
            self.answer(302, b"", Location="/data.bin")
        elif server.status is not None:
            self.answer(server.status, b"")
        else:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) if asked else 0
            goes_on = bool(asked) and server.ranges and self.headers["If-Range"] in (None, server.version)
            if goes_on and start >= len(server.content):
                self.answer(416, b"")
            elif goes_on:
                content_range = f"bytes {start}-{len(server.content) - 1}/{len(server.content)}"
                self.answer(206, server.content[start:], **{"Content-Range": content_range, "ETag": server.version})
            else:
                self.answer(200, server.content, ETag=server.version)

    def answer(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        length = self.server.announced or len(content)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        cut = self.server.pieces.pop(0) if content and self.server.pieces else len(content)
        self.wfile.write(content[:cut])
        self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def fetch(home: Home, file: WebFile, user_copy: Path | None = None) -> Path:
    return http.fetch(home, file, user_copy=user_copy, progress=NoProgress())


def test_a_file_is_downloaded_once_and_kept(alone: Home, web: Server) -> None:
    kept = fetch(alone, web.file(sha256=SHA256, size=len(CONTENT)))
    assert kept.read_bytes() == CONTENT
    assert fetch(alone, web.file(sha256=SHA256)) == kept
    assert web.asked == ["/data.bin whole"]
    assert [path.name for path in kept.parent.iterdir()] == ["data.bin"]


def test_concurrent_requests_download_a_file_once(alone: Home, web: Server) -> None:
    threads = [threading.Thread(target=fetch, args=(alone, web.file(sha256=SHA256))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert web.asked == ["/data.bin whole"]


def test_a_broken_connection_is_resumed(alone: Home, web: Server) -> None:
    web.pieces = [100_000, 50_000]
    assert fetch(alone, web.file(sha256=SHA256)).read_bytes() == CONTENT
    assert web.asked == ["/data.bin whole", "/data.bin bytes=100000-", "/data.bin bytes=150000-"]


def test_a_retry_continues_after_the_received_bytes(alone: Home, web: Server) -> None:
    web.pieces = [100_000, 0]
    with pytest.raises(SourceError, match=r"the connection broke while downloading http.*the partial download is kept"):
        fetch(alone, web.file())
    assert fetch(alone, web.file()).read_bytes() == CONTENT
    assert web.asked[-1] == "/data.bin bytes=100000-"


def test_a_file_that_changed_meanwhile_is_downloaded_whole(alone: Home, web: Server) -> None:
    web.pieces = [100_000, 0]
    with pytest.raises(SourceError, match="connection broke"):
        fetch(alone, web.file())
    web.content, web.version = b"another file", '"two"'
    assert fetch(alone, web.file()).read_bytes() == b"another file"


def test_a_partial_file_longer_than_the_file_is_discarded(alone: Home, web: Server) -> None:
    web.pieces = [100_000, 0]
    with pytest.raises(SourceError, match="connection broke"):
        fetch(alone, web.file())
    web.content = CONTENT[:1000]
    assert fetch(alone, web.file()).read_bytes() == CONTENT[:1000]


def test_without_range_support_the_whole_file_is_downloaded(alone: Home, web: Server) -> None:
    web.pieces, web.ranges = [100_000], False
    assert fetch(alone, web.file(sha256=SHA256)).read_bytes() == CONTENT


def test_a_file_with_a_wrong_checksum_is_refused_until_deleted(alone: Home, web: Server) -> None:
    web.content = CONTENT[:-1] + b"\0"
    expected = re.escape(f"its SHA-256 is {hashlib.sha256(web.content).hexdigest()}, not {SHA256}; delete it")
    for _ in range(2):
        with pytest.raises(SourceError, match=expected) as caught:
            fetch(alone, web.file(sha256=SHA256))
    assert web.asked == ["/data.bin whole"]
    damaged = Path(str(caught.value).partition(" is not")[0])
    assert damaged.read_bytes() == web.content
    damaged.unlink()
    web.content = CONTENT
    assert fetch(alone, web.file(sha256=SHA256)).read_bytes() == CONTENT


def test_a_file_of_another_size_is_refused_even_without_a_checksum(alone: Home, web: Server) -> None:
    with pytest.raises(SourceError, match="it has 300,000 bytes, not 300,001"):
        fetch(alone, web.file(size=300_001))


def test_a_redirect_is_followed(alone: Home, web: Server) -> None:
    web.pieces = [100_000]
    assert fetch(alone, web.file("/moved", sha256=SHA256)).read_bytes() == CONTENT
    assert web.asked[2:] == ["/moved bytes=100000-", "/data.bin bytes=100000-"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "no longer exists"),
        (403, "is not public"),
        (429, "too many requests"),
        (503, "returned 503"),
    ],
)
def test_an_http_error_is_reported_in_one_sentence(alone: Home, web: Server, status: int, said: str) -> None:
    web.status = status
    with pytest.raises(SourceError, match=said):
        fetch(alone, web.file())


def test_an_unreachable_server_is_reported(alone: Home, web: Server) -> None:
    unreachable = WebFile(url="http://127.0.0.1:1/data.bin", file="data.bin")
    with pytest.raises(SourceError, match=r"cannot be reached \(.*refused\); check the network"):
        fetch(alone, unreachable)


def test_a_file_larger_than_the_disk_is_not_downloaded(alone: Home, web: Server) -> None:
    web.announced = 10**18
    with pytest.raises(SourceError, match=r"needs 1e\+06TB, but the disk of .* free; free some space"):
        fetch(alone, web.file())


def test_a_full_disk_keeps_the_received_bytes(alone: Home, web: Server) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(SourceError, match=r"is full while downloading .*; free some space"):
            fetch(alone, web.file(sha256=SHA256))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert fetch(alone, web.file(sha256=SHA256)).read_bytes() == CONTENT
    assert web.asked[-1] == "/data.bin bytes=100000-"


def test_a_user_copy_is_verified_and_used(alone: Home, web: Server, tmp_path: Path) -> None:
    own = tmp_path / "data.bin"
    own.write_bytes(CONTENT)
    assert fetch(alone, web.file(sha256=SHA256), user_copy=own) == fetch(alone, web.file(), user_copy=tmp_path) == own
    own.write_bytes(b"another")
    with pytest.raises(SourceError, match=r"is not the file this task was made from.*; pass another copy"):
        fetch(alone, web.file(sha256=SHA256), user_copy=own)
    with pytest.raises(SourceError, match=r"contains no data\.bin"):
        fetch(alone, web.file(), user_copy=alone.root)
    assert web.asked == []


def test_a_path_outside_the_target_is_refused(tmp_path: Path, web: Server) -> None:
    own = tmp_path / "data.bin"
    own.write_bytes(CONTENT)
    with pytest.raises(SourceError, match="outside its folder"):
        http.copy_into(own, web.file(file="../data.bin"), tmp_path / "raw")


@pytest.mark.parametrize(("facts", "verified"), [({"sha256": SHA256}, True), ({}, False)])
def test_a_task_is_prepared_from_the_web(
    alone: Home, web: Server, toy: MakeTask, facts: dict[str, str], verified: bool
) -> None:
    prepared = prepare(alone, toy(COPY, files=[web.file(**facts)]), progress=NoProgress())
    assert hash_file(prepared.public / "a.txt") == SHA256
    assert (prepared.manifest.origin.kind, prepared.manifest.origin.verified) == ("web", verified)
    assert prepared.manifest.raw["deep/data.bin"].sha256 == SHA256


def test_only_http_urls_are_accepted() -> None:
    with pytest.raises(ValueError, match="url"):
        WebFile(url="file:///etc/passwd", file="passwd")
