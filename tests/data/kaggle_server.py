"""A test server with Kaggle's API on port 80 of its own network namespace.

Start it through `unshare`: `kaggle_server.py FOLDER`.

It serves FOLDER/COMPETITION.zip to authenticated clients, and logs each request in FOLDER/requests. For each request
it reads from FOLDER/COMPETITION.json how to misbehave:
  status, message, headers  answer this instead of an address
  piece                     send so many bytes, then drop the connection
  stall                     send so many bytes, then nothing more
  address_lasts             refuse an address that was used so often already
  announce                  say that the archive is so large
  whole_only                send all of it, whatever part is asked for
  silent                    say neither how large the archive is nor which one
"""

import base64
import fcntl
import hashlib
import json
import re
import secrets
import socket
import struct
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

USERNAME, KEY, TOKEN = "somebody", "0123456789abcdef", "token-of-somebody"
RULES = "You must accept this competition's rules before you'll be able to download files."


class Kaggle(BaseHTTPRequestHandler):
    folder: Path
    used: ClassVar[Counter[str]] = Counter()

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        service = self.path.removeprefix("/api/v1/")
        if service == "security.OAuthService/IntrospectToken":
            self.log_request_of("sign in")
            valid = request["token"] == TOKEN
            self.answer(200, {"active": valid, "username": USERNAME if valid else ""})
        elif service == "competitions.CompetitionApiService/DownloadDataFiles":
            self.address(request["competitionName"])
        else:
            self.answer(404, {"code": 404, "message": f"no service {service}"})

    def address(self, competition: str) -> None:
        self.log_request_of(f"ask {competition}")
        basic = base64.b64encode(f"{USERNAME}:{KEY}".encode()).decode()
        plan = self.plan(competition)
        if self.headers["Authorization"] not in (f"Basic {basic}", f"Bearer {TOKEN}"):
            self.answer(401, {"code": 401, "message": "Unauthenticated"})
        elif "status" in plan:
            self.answer(plan["status"], plan.get("message", "<html>"), plan.get("headers", {}))
        elif not (self.folder / f"{competition}.zip").is_file():
            self.answer(404, {"code": 404, "message": "Not found"})
        else:
            where = f"http://localhost/store/{competition}.zip?signature={secrets.token_hex(8)}"
            self.answer(302, {}, {"Location": where})

    def do_GET(self):
        match = re.fullmatch(r"/store/([\w-]+)\.zip\?signature=(\w+)", self.path)
        assert match, self.path
        competition, signature = match.groups()
        content, plan = (self.folder / f"{competition}.zip").read_bytes(), self.plan(competition)
        self.used[signature] += 1
        if self.used[signature] > plan.get("address_lasts", 10**9):
            self.log_request_of(f"refuse {competition}")
            self.answer(400, "<Error><Code>ExpiredToken</Code></Error>" * 100)
            return
        version = f'"{hashlib.md5(content).hexdigest()}"'
        start = 0
        if "Range" in self.headers and self.headers["If-Range"] == version and "whole_only" not in plan:
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.log_request_of(f"get {competition} {start}")
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        if "silent" not in plan:
            self.send_header("ETag", version)
            self.send_header("Content-Length", plan.get("announce", len(content) - start))
        self.end_headers()
        size = plan.get("piece", plan.get("stall", len(content)))
        try:
            self.wfile.write(content[start : start + size])
            self.wfile.flush()
            if "stall" in plan:
                self.connection.recv(1)  # until the other side hangs up
        except OSError:
            pass  # the other side has hung up
        self.close_connection = True

    def plan(self, competition: str) -> dict:
        path = self.folder / f"{competition}.json"
        return json.loads(path.read_text()) if path.is_file() else {}

    def answer(self, status: int, content: dict | str, headers: dict = {}) -> None:  # noqa: B006
        body = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if isinstance(content, str) else "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_request_of(self, what: str) -> None:
        with (self.folder / "requests").open("a") as requests:
            requests.write(f"{what}\n")

    def log_message(self, *words: object) -> None:
        pass


def raise_loopback() -> None:
    """Switch on the loopback device, which is off in a new network (`ip link set lo up`)."""
    set_flags, up, running = 0x8914, 0x1, 0x40
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sH22x", b"lo", up | running))


if __name__ == "__main__":
    Kaggle.folder = Path(sys.argv[1])
    raise_loopback()
    server = ThreadingHTTPServer(("127.0.0.1", 80), Kaggle)
    print("ready", flush=True)
    server.serve_forever()
