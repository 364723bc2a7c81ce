"""Competitions are downloaded from Kaggle once and completely, even if a connection breaks or a process is killed.

Kaggle's real client talks to a test server, in a separate network namespace.
"""

import hashlib
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from little_kaggle import BLOCK, CONTENT, HERE, MD5, LittleKaggle, little_kaggle, packed

from assay.core.errors import SourceError
from assay.core.home import Home
from assay.core.progress import NoProgress
from assay.data import prepare
from assay.data.job import run_synthesize
from assay.data.store import PrepareOptions
from assay.tasks import Registry


@pytest.fixture
def little(tmp_path: Path, alone: Home) -> Iterator[LittleKaggle]:
    with little_kaggle(tmp_path, alone) as running:
        yield running


def test_an_archive_is_downloaded_verified_and_extracted(little: LittleKaggle) -> None:
    little.publish()
    lines = little.fetch({})
    assert little.is_complete(lines[-1])
    assert lines[-1] | {"folder": ""} == {"folder": "", "kind": "kaggle", "verified": True, "md5": MD5}
    stages = [line["stage"] for line in lines if "stage" in line]
    assert stages == ["Downloading toy.zip (300KB)", "Checking toy.zip", "Extracting toy.zip"]
    downloaded = [line["advance"] for line in lines if "advance" in line][
        : lines.index({"stage": stages[1], "total": len(CONTENT)}) - 1
    ]
    assert sum(downloaded) == len(CONTENT)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in Path(lines[-1]["folder"]).rglob("*")}
    assert modes == {0o700, 0o600}


def test_downloaded_data_needs_no_network(little: LittleKaggle) -> None:
    little.publish()
    assert little.is_complete(little.result())
    requests = little.requests()
    assert little.is_complete(little.fetch({}, reachable=False, variables={})[-1])
    archive = little.home.downloads / "kaggle/toy/toy.zip"
    archive.rename(archive.with_suffix(".gone"))
    assert little.fetch({}, reachable=False, variables={})[-1]["verified"] is True
    assert little.requests() == requests


def test_a_deleted_folder_is_extracted_again_without_the_network(little: LittleKaggle) -> None:
    little.publish()
    shutil.rmtree(little.result()["folder"])
    assert little.is_complete(little.fetch({}, reachable=False)[-1])


def test_a_broken_connection_resumes_where_it_broke(little: LittleKaggle) -> None:
    little.publish(piece=BLOCK)
    assert little.is_complete(little.result())
    starts = [f"get toy {start}" for start in range(0, len(CONTENT), BLOCK)]
    assert little.requests() == ["ask toy", "get toy 0", *starts]


def test_an_expired_url_is_requested_again(little: LittleKaggle) -> None:
    little.publish(piece=2 * BLOCK, address_lasts=2)
    assert little.is_complete(little.result())
    assert little.requests() == [
        "ask toy", "get toy 0", "get toy 0", "refuse toy",
        "ask toy", "get toy 0", f"get toy {2 * BLOCK}", "refuse toy",
        "ask toy", "get toy 0", f"get toy {4 * BLOCK}",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_connection_without_data_is_abandoned(little: LittleKaggle) -> None:
    little.publish(piece=0)
    error = little.result()["error"]
    assert error.startswith("the connection broke while downloading toy")
    assert "run again to resume it" in error
    little.behave()
    assert little.is_complete(little.result())


def test_an_archive_of_unknown_size_is_downloaded_in_one_go(little: LittleKaggle) -> None:
    little.publish(silent=True)
    assert little.is_complete(little.result())


def test_a_wrong_checksum_is_reported_and_the_archive_is_kept(little: LittleKaggle) -> None:
    damaged = packed(seed=1)
    little.publish(content=damaged)
    archive = little.home.downloads / "kaggle/toy/toy.zip"
    for reachable in (True, False):
        error = little.fetch({}, reachable=reachable)[-1]["error"]
        assert str(archive) in error
        assert f"its MD5 is {hashlib.md5(damaged).hexdigest()}, not {MD5}" in error
        assert "delete it to download it again" in error
        assert "--unverified" in error
        assert archive.read_bytes() == damaged
    assert not archive.with_name("raw").exists()
    accepted = little.fetch({"unverified": True}, {"unverified": True}, reachable=False)
    assert little.is_complete(accepted[-1], content=damaged)
    assert accepted[-1]["verified"] is False
    assert accepted[-1]["md5"] == hashlib.md5(damaged).hexdigest()
    assert [line["stage"] for line in accepted if "stage" in line] == ["Checking toy.zip", "Extracting toy.zip"]
    assert "not the archive" in little.fetch({}, reachable=False)[-1]["error"]
    little.publish()
    archive.unlink()
    assert little.is_complete(little.result())


def test_without_a_published_checksum_an_archive_is_accepted_as_unverified(little: LittleKaggle) -> None:
    little.publish()
    result = little.result(md5=None)
    assert little.is_complete(result)
    assert (result["verified"], result["md5"]) == (False, MD5)


def test_one_competition_that_fails_does_not_stop_the_others(little: LittleKaggle) -> None:
    for name in ("one", "three"):
        little.publish(name)
    lines = little.fetch({"competition": "one"}, {"competition": "two"}, {"competition": "three"})
    first, second, third = (line for line in lines if "folder" in line or "error" in line)
    assert little.is_complete(first, "one")
    assert "Kaggle has no competition two" in second["error"]
    assert little.is_complete(third, "three")


def test_concurrent_processes_download_once(little: LittleKaggle) -> None:
    little.publish()
    crowd = [little.start({}) for _ in range(3)]
    ends = [json.loads(process.communicate(timeout=600)[0].splitlines()[-1]) for process in crowd]
    assert all(little.is_complete(end) for end in ends)
    assert little.requests() == ["ask toy", "get toy 0", "get toy 0"]


def stalled(little: LittleKaggle, after: int) -> "subprocess.Popen[str]":
    """Start a process, and return it when it has downloaded `after` more bytes and waits for the rest."""
    little.behave(stall=after)
    process = little.start({})
    assert process.stdout
    lines = (json.loads(line) for line in process.stdout)
    advances = (line["advance"] for line in lines if "advance" in line)
    next(advances)  # what was there before
    while after > 0:
        after -= next(advances)
    return process


def test_a_kill_while_downloading_keeps_the_partial_download(little: LittleKaggle) -> None:
    little.publish()
    for after, how in ((2 * BLOCK, signal.SIGKILL), (BLOCK, signal.SIGINT)):
        process = stalled(little, after)
        process.send_signal(how)
        process.communicate()
    little.behave()
    assert little.is_complete(little.result())
    # A client may receive another block before the signal ends it.
    assert int(little.requests()[-1].removeprefix("get toy ")) >= 3 * BLOCK


@pytest.mark.parametrize(
    ("how", "sentence"),
    [(signal.SIGKILL, "Kaggle's client failed (code -9) while downloading toy; the partial download is kept"),
     (signal.SIGALRM, "Kaggle did not respond for toy; run again later")],
)  # fmt: skip
def test_a_killed_client_is_reported_and_its_download_resumed(
    little: LittleKaggle, how: signal.Signals, sentence: str
) -> None:
    little.publish()
    process = stalled(little, BLOCK)
    client = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(client) == 1
    os.kill(int(client[0]), how)
    assert sentence in json.loads(process.communicate(timeout=600)[0].splitlines()[-1])["error"]
    little.behave()
    assert little.is_complete(little.result())
    assert little.requests()[-1] == f"get toy {BLOCK}"


def test_a_server_without_range_requests_is_downloaded_from_the_start(little: LittleKaggle) -> None:
    little.publish()
    process = stalled(little, BLOCK)
    process.kill()
    process.communicate()
    little.behave(whole_only=True)
    assert little.is_complete(little.result())


def test_parts_of_two_archives_never_mix(little: LittleKaggle) -> None:
    little.publish()
    process = stalled(little, BLOCK)
    process.kill()
    process.communicate()
    newer = packed(seed=2, size=310_000)
    little.publish(content=newer)
    result = little.result(md5=hashlib.md5(newer).hexdigest())
    assert little.is_complete(result, content=newer)
    assert result["verified"] is True


@pytest.mark.slow
def test_a_kill_at_any_time_of_extraction_leaves_nothing_incomplete(alone: Home, tmp_path: Path) -> None:
    archive = tmp_path / "toy.zip"
    archive.write_bytes(CONTENT)
    words = [sys.executable, HERE / "kaggle_kill.py", alone.root, archive]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[1]) > 15  # a resumed extraction has fewer acts to be killed at


def test_an_archive_without_a_file_that_the_task_needs_says_which(little: LittleKaggle, tmp_path: Path) -> None:
    """Lyft's map is in an archive of 90 GB; a copy without it is refused before anything is prepared."""
    task = Registry().task("mlebench/3d-object-detection-for-autonomous-vehicles")
    raw, content = tmp_path / "raw", io.BytesIO()
    raw.mkdir()
    run_synthesize(task, 0, raw)
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(raw.rglob("*")):
            if path.is_file() and path.parent.name != "train_maps":
                archive.write(path, path.relative_to(raw))
    little.publish(task.name, content.getvalue())
    assert task.source.kaggle
    call = {"competition": task.name, "md5": task.source.kaggle.md5, "unverified": True}
    assert little.result(**call)["verified"] is False
    with pytest.raises(SourceError, match=r"is missing train_maps/map_raster_palo_alto\.png; .* download it again"):
        prepare(little.home, task, "v1", "unverified", progress=NoProgress())
    prepared = prepare(
        little.home, task, "v1", "unverified", progress=NoProgress(), options=PrepareOptions(user_copy=raw)
    )
    assert (prepared.public / "test_maps/map_raster_palo_alto.png").is_file()
