"""Download a competition's archive in a separate process: `kaggle_client.py COMPETITION FOLDER`.

Kaggle's client uses the network when it is imported, prints freely, and exits the process if it finds no credentials;
none of this may happen in Assay's own process. The progress is written to standard output, one JSON object per line; a
line on standard input starts the transfer, and the end of that input ends the process.

The client signs in and returns the archive's URL. The transfer is ours: given an expired URL, the client's own writes
the error page over everything downloaded so far.
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

SIGN_IN_TIMEOUT = 120  # seconds for signing in and getting the URL, after which the alarm ends the process
READ_TIMEOUT = 60  # seconds without a byte after which a connection counts as broken
PAUSES = (1, 2, 4, 8, 16)  # seconds to wait after each successive attempt without progress
BLOCK = 2**16  # bytes; a partial block is lost when the connection breaks

Report = Callable[..., None]


class Broken(Exception):
    """The transfer was interrupted repeatedly without progress."""


@dataclass(frozen=True)
class Archive:
    """The URL of an archive for the next minutes, and what distinguishes it from other versions."""

    url: str
    headers: Mapping[str, str]
    size: int | None
    version: str | None

    @property
    def resumable(self) -> bool:
        """Whether a partial download is known to be of this exact archive."""
        return self.size is not None and self.version is not None

    def part(self, competition: str) -> str:
        """Return the name of the partial download; each version has its own, so that parts never mix."""
        return f".{competition}.zip.{hashlib.sha256(f'{self.version} {self.size}'.encode()).hexdigest()[:16]}"


def main(competition: str, folder: Path) -> None:
    """Download, and report the outcome without revealing credentials or signed URLs."""
    report = _open_report()
    try:
        fetch(competition, folder, report)
    except SystemExit:  # how the client reports missing or invalid credentials
        report(error="credentials")
    except requests.HTTPError as error:
        report(error="status", **_refusal(error.response))
    except requests.RequestException as error:
        report(error="network", message=type(error).__name__)
    except Broken as error:
        report(error="broken", message=str(error))
    except OSError as error:
        report(error="disk", errno=error.errno, message=str(error))
    except Exception as error:  # noqa: BLE001 - the client may raise anything, and its text may quote the token
        report(error="client", message=type(error).__name__)


def fetch(competition: str, folder: Path, report: Report) -> None:
    """Download the archive, or the rest of it, and report the file it is in."""
    archive = find_archive(competition)
    name = archive.part(competition)
    with open(os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:  # noqa: PTH123
        # A process left over from a killed parent is about to end; until it has, the file is not ours.
        fcntl.flock(file, fcntl.LOCK_EX)
        have = file.seek(0, os.SEEK_END)
        if not archive.resumable or (archive.size is not None and have > archive.size):
            have = file.seek(0)
            file.truncate()
        report(part=name, size=archive.size, have=have)
        if not sys.stdin.readline():
            return
        threading.Thread(target=_end_with_parent, daemon=True).start()
        _transfer(competition, archive, file, report)
        os.fsync(file.fileno())
    report(done=True)


def find_archive(competition: str) -> Archive:
    """Sign in and return where the archive is."""
    signal.alarm(SIGN_IN_TIMEOUT)  # the client sets no timeout
    try:
        import kaggle
        from kagglesdk.competitions.types.competition_api_service import ApiDownloadDataFilesRequest

        if not getattr(kaggle.api, "_authenticated", False):  # importing it tried, and hid the error
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


def _transfer(competition: str, archive: Archive, file: BinaryIO, report: Report) -> None:
    """Download the missing part, with retries as long as they make progress."""
    fruitless = 0
    while file.tell() != archive.size:
        had, fault = file.tell(), "no data was received"
        try:
            if fruitless:
                if (again := find_archive(competition)).part("") != archive.part(""):
                    raise Broken("the archive was replaced during the download")
                archive = again  # the same archive at a new URL: URLs expire
            _attempt(archive, file, report)
            if archive.size is None:
                return
        except requests.HTTPError:
            raise  # Kaggle responded with a refusal
        except requests.RequestException as error:
            fault = type(error).__name__
        if file.tell() > had and archive.resumable:
            fruitless = 0
        elif fruitless == len(PAUSES):
            raise Broken(fault)
        else:
            time.sleep(PAUSES[fruitless])
            fruitless += 1


def _attempt(archive: Archive, file: BinaryIO, report: Report) -> None:
    have = file.tell() if archive.resumable else 0
    rest = {"Range": f"bytes={have}-", "If-Range": archive.version or ""} if have else {}
    with requests.get(archive.url, headers={**archive.headers, **rest}, stream=True, timeout=READ_TIMEOUT) as answer:
        if answer.status_code not in (200, 206):
            raise requests.ConnectionError(f"the storage server returned {answer.status_code}")
        if answer.status_code == 200:  # the whole file, despite the range
            file.seek(0)
            file.truncate()
        for block in answer.iter_content(BLOCK):
            file.write(block)
            file.flush()
            report(have=file.tell())


def _open_report() -> Report:
    """Reserve standard output for reports; what the client prints is discarded."""
    line = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return lambda **what: print(json.dumps(what), file=line)


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _refusal(answer: requests.Response | None) -> dict[str, int | str]:
    """Return Kaggle's refusal: the status, its message if there is one, and how long to wait."""
    if answer is None:
        return {}
    try:
        content = answer.json()
        message = content.get("message") or content["error"]["message"]
    except (ValueError, LookupError, AttributeError, TypeError, requests.RequestException):
        message = ""
    message = " ".join(str(message).split())[:300]
    return {"status": answer.status_code, "message": message, "wait": answer.headers.get("Retry-After", "")}


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
