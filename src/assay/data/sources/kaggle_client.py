"""Fetches a competition's archive, as a program of its own: `kaggle_client.py COMPETITION FOLDER`.

Kaggle's client talks to the network when it is imported, prints as it likes, and ends the process where it finds no
credentials; none of this may happen in Assay's own process. What goes on is told on standard output, one JSON object a
line; a line on standard input lets the transfer begin, and the end of that input ends the program.

The client signs in and says where the archive is. The transfer is ours: the client's own, met with an address that has
expired, writes the error page over all that it has fetched.
"""

import fcntl
import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import requests

ANSWER_WITHIN = 120  # seconds for signing in and for the address, after which the alarm ends the program
SILENCE = 60  # seconds without a byte after which a connection counts as broken
PAUSES = (1, 2, 4, 8, 16)  # seconds to wait after each attempt in a row that brought nothing
BLOCK = 2**16  # bytes; what has come of a block is lost when the connection breaks

Tell = Callable[..., None]


class Broken(Exception):
    """The transfer ended too early, again and again."""


@dataclass(frozen=True)
class Archive:
    """Where an archive is for the next minutes, and what tells it from another one of the same name."""

    url: str
    headers: Mapping[str, str]
    size: int | None
    version: str | None

    @property
    def resumable(self) -> bool:
        """Whether a part of it is known to be a part of this very archive."""
        return self.size is not None and self.version is not None

    def part(self, competition: str) -> str:
        """The name of the file it is fetched to: another one for another archive, so that parts never mix."""
        return f".{competition}.zip.{hashlib.sha256(f'{self.version} {self.size}'.encode()).hexdigest()[:16]}"


def main(competition: str, folder: Path) -> None:
    """Fetch, and tell of the end whatever it is, in words that hold no credentials and no signed address."""
    tell = _line_to_parent()
    try:
        fetch(competition, folder, tell)
    except SystemExit:  # how the client says that it found no credentials, or none that are valid
        tell(error="credentials")
    except requests.HTTPError as error:
        tell(error="status", **_refusal(error.response))
    except requests.RequestException as error:
        tell(error="network", said=type(error).__name__)
    except Broken as error:
        tell(error="broken", said=str(error))
    except OSError as error:
        tell(error="disk", errno=error.errno, said=str(error))
    except Exception as error:  # noqa: BLE001 - the client may raise anything, and its text may quote the token
        tell(error="client", said=type(error).__name__)


def fetch(competition: str, folder: Path, tell: Tell) -> None:
    """Fetch the archive, or the rest of it, and tell which file it is in."""
    archive = ask(competition)
    name = archive.part(competition)
    with open(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:  # noqa: PTH123
        # Should a killed process have left us a twin, it is about to end; until it has, the file is not ours.
        fcntl.flock(file, fcntl.LOCK_EX)
        have = file.seek(0, os.SEEK_END)
        if not archive.resumable or (archive.size is not None and have > archive.size):
            have = file.seek(0)
            file.truncate()
        tell(part=name, size=archive.size, have=have)
        if not sys.stdin.readline():
            return
        threading.Thread(target=_end_with_parent, daemon=True).start()
        _transfer(competition, archive, file, tell)
        os.fsync(file.fileno())
    tell(done=True)


def ask(competition: str) -> Archive:
    """Sign in and ask Kaggle where the archive is."""
    signal.alarm(ANSWER_WITHIN)  # the client sets no time limit of its own
    try:
        import kaggle
        from kagglesdk.competitions.types.competition_api_service import ApiDownloadDataFilesRequest

        if not getattr(kaggle.api, "_authenticated", False):  # importing it tried, and kept to itself what was wrong
            kaggle.api.authenticate()
        request = ApiDownloadDataFilesRequest()
        request.competition_name = competition
        with kaggle.api.build_kaggle_client() as client:
            answer = client.competitions.competition_api_client.download_data_files(request)
            answer.close()
    finally:
        signal.alarm(0)
    headers = answer.headers
    length = None if headers.get("Content-Encoding") else headers.get("Content-Length")
    version = headers.get("ETag") or headers.get("Last-Modified")
    return Archive(answer.url, dict(answer.request.headers), int(length) if length else None, version)


def _transfer(competition: str, archive: Archive, file: BinaryIO, tell: Tell) -> None:
    """Fetch what is missing, in as many attempts as it takes while every few of them bring something."""
    fruitless = 0
    while file.tell() != archive.size:
        had, fault = file.tell(), "nothing came"
        try:
            if fruitless:
                if (again := ask(competition)).part("") != archive.part(""):
                    raise Broken("the archive was replaced by another one meanwhile")
                archive = again  # the same one at a new address: addresses expire
            _attempt(archive, file, tell)
            if archive.size is None:
                return
        except requests.HTTPError:
            raise  # Kaggle answers, and says no
        except requests.RequestException as error:
            fault = type(error).__name__
        if file.tell() > had and archive.resumable:
            fruitless = 0
        elif fruitless == len(PAUSES):
            raise Broken(fault)
        else:
            time.sleep(PAUSES[fruitless])
            fruitless += 1


def _attempt(archive: Archive, file: BinaryIO, tell: Tell) -> None:
    have = file.tell() if archive.resumable else 0
    rest = {"Range": f"bytes={have}-", "If-Range": archive.version or ""} if have else {}
    with requests.get(archive.url, headers={**archive.headers, **rest}, stream=True, timeout=SILENCE) as answer:
        if answer.status_code not in (200, 206):
            raise requests.ConnectionError(f"the store answered {answer.status_code}")
        if answer.status_code == 200:  # all of it, whatever was asked for
            file.seek(0)
            file.truncate()
        for block in answer.iter_content(BLOCK):
            file.write(block)
            file.flush()
            tell(have=file.tell())


def _line_to_parent() -> Tell:
    """Keep standard output for ourselves; what the client prints goes nowhere."""
    line = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return lambda **what: print(json.dumps(what), file=line)


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _refusal(answer: requests.Response | None) -> dict[str, int | str]:
    """What Kaggle answered instead of an archive: a number, its own sentence if it sent one, and how long to wait."""
    if answer is None:
        return {}
    try:
        content = answer.json()
        message = content.get("message") or content["error"]["message"]
    except (ValueError, LookupError, AttributeError, TypeError, requests.RequestException):
        message = ""
    said = " ".join(str(message).split())[:300]
    return {"status": answer.status_code, "said": said, "wait": answer.headers.get("Retry-After", "")}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
