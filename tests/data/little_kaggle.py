"""Helpers for tests of Kaggle: a test server, archives for it, and processes that download from it."""

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from kaggle_server import KEY, TOKEN, USERNAME

from assay.core.home import Home

HERE = Path(__file__).parent
BLOCK = 2**16  # what the transfer is read in: a connection that breaks in the middle of one loses it
NEW_NETWORK = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]


def packed(seed: int = 0, size: int = 300_000) -> bytes:
    """Return an archive with a table, files in folders, and a nested archive; it depends on the seed only."""
    noise = np.random.default_rng(seed).bytes(size)
    inner, outer = io.BytesIO(), io.BytesIO()
    for file, members in ((inner, {"train/1.jpg": b"jpg"}), (outer, {"train.csv": noise, "a/b.txt": b"b"})):
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name), content)
            if file is outer:
                archive.writestr(zipfile.ZipInfo("train.zip"), inner.getvalue())
    return outer.getvalue()


CONTENT = packed()
MD5 = hashlib.md5(CONTENT).hexdigest()
FILES = ["a/b.txt", "train.csv", "train.zip"]


@dataclass
class LittleKaggle:
    """Controls the server, and starts processes that download from it."""

    folder: Path
    network: list[str]
    home: Home
    user: Path

    def publish(self, competition: str = "toy", content: bytes = CONTENT, **plan: object) -> None:
        (self.folder / f"{competition}.zip").write_bytes(content)
        self.behave(competition, **plan)

    def behave(self, competition: str = "toy", **plan: object) -> None:
        (self.folder / f"{competition}.json").write_text(json.dumps(plan))

    def requests(self) -> list[str]:
        log = self.folder / "requests"
        return log.read_text().splitlines() if log.is_file() else []

    def start(
        self, *calls: dict, reachable: bool = True, variables: dict[str, str] | None = None
    ) -> "subprocess.Popen[str]":
        """Start a process that downloads raw data, with `variables` in place of a valid key."""
        key = {"KAGGLE_USERNAME": USERNAME, "KAGGLE_KEY": KEY} if variables is None else variables
        settings = {"PATH": os.environ["PATH"], "HOME": str(self.user), "KAGGLE_API_ENVIRONMENT": "LOCALHOST", **key}
        words = [*(self.network if reachable else NEW_NETWORK), sys.executable, HERE / "kaggle_call.py"]
        words += [self.home.root, *(json.dumps({"competition": "toy", "md5": MD5, **call}) for call in calls)]
        return subprocess.Popen(
            list(map(str, words)), env=settings, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def fetch(self, *calls: dict, **options: object) -> list[dict]:
        """Run these calls, and return the lines that they print."""
        out, err = self.start(*calls, **options).communicate(timeout=600)  # type: ignore[arg-type]
        assert err == ""
        assert KEY not in out
        assert TOKEN not in out
        return [json.loads(line) for line in out.splitlines()]

    def result(self, **call: object) -> dict:
        return self.fetch(call)[-1]

    def is_complete(self, result: dict, competition: str = "toy", content: bytes = CONTENT) -> bool:
        """Return whether a result is the raw data of this archive, and nothing else is left."""
        folder = self.home.downloads / "kaggle" / competition
        assert result.get("folder") == str(folder / "raw"), result
        assert (folder / f"{competition}.zip").read_bytes() == content
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in FILES:
                assert (folder / "raw" / name).read_bytes() == archive.read(name)
        assert files_in(folder / "raw") == FILES
        return {path.name for path in folder.iterdir()} == {"raw", "raw.json", f"{competition}.zip"}


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@contextmanager
def little_kaggle(tmp_path: Path, home: Home) -> Iterator[LittleKaggle]:
    """Run the server in its own network namespace for the duration of a test."""
    folder, user = tmp_path / "kaggle", tmp_path / "user"
    folder.mkdir()
    user.mkdir()
    words = [*NEW_NETWORK, sys.executable, str(HERE / "kaggle_server.py"), str(folder)]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        assert server.stdout.readline() == "ready\n"
        inside = Path(f"/proc/{server.pid}/ns")
        network = ["nsenter", f"--net={inside / 'net'}"]
        if os.geteuid() != 0:
            network += [f"--user={inside / 'user'}", "--preserve-credentials"]
        yield LittleKaggle(folder, network, home, user)
    finally:
        server.kill()
        server.communicate()
