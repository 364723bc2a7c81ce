"""Snapshots preserve a workspace exactly, within its disk limit, and store unchanged files once."""

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import time
import zlib
from contextlib import nullcontext
from pathlib import Path

import pytest
from inside import SMALL, Open, shell

from assay.core.errors import RecordError, UnsafePath
from assay.lab import snapshots
from assay.lab.snapshots import QUOTA_FACTOR, StoreQuota, take_snapshot

pytestmark = pytest.mark.anyio
EVIL_TEXT = b"evil " * 2000

FILL = """
echo one > a.txt; mkdir -p deep/er empty; echo two > deep/er/b.txt; ln -s a.txt link; ln -s /nowhere broken
printf '#!/bin/sh\\n' > run.sh; chmod 750 run.sh; chmod 700 deep; touch -d 2001-02-03 a.txt
"""
LIST = """
find . -mindepth 1 -type d -printf '%p %m\\n' -or -mindepth 1 -printf '%p %y %m %s %l %TY-%Tm-%Td\\n' | sort
cat a.txt deep/er/b.txt
"""


async def test_restoring_is_exact(opened: Open, tmp_path: Path):
    async with opened() as lab:
        assert (await shell(lab, FILL)).succeeded
        before = (await shell(lab, LIST)).stdout.text
        kept = await lab.snapshot(tmp_path)
        await shell(lab, "echo three > a.txt; rm -r deep link run.sh; mkdir run.sh; touch new; rmdir empty")
        assert (await shell(lab, LIST)).stdout.text != before
        await lab.restore(tmp_path, kept)
        assert (await shell(lab, LIST)).stdout.text == before
        assert (await shell(lab, "echo more >> deep/er/b.txt")).succeeded, "the agent owns what was restored"


async def test_a_snapshot_is_restored_in_another_lab_from_its_id(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await shell(lab, FILL)
        before = (await shell(lab, LIST)).stdout.text
        id = (await lab.snapshot(tmp_path)).id
    async with opened() as lab:
        await lab.restore(tmp_path, snapshots.load_snapshot(tmp_path, id))
        assert (await shell(lab, LIST)).stdout.text == before


async def test_unchanged_files_are_not_read_again(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await lab.write("same", b"same")
        await lab.write("other", b"before")
        wait_for_the_clock()
        first = await lab.snapshot(tmp_path)
        (tmp_path / "objects" / first.files["same"].sha256).unlink()
        await lab.write("other", b"after!")
        second = await lab.snapshot(tmp_path, first)
    assert second.files["same"] == first.files["same"]
    assert not (tmp_path / "objects" / first.files["same"].sha256).exists(), "it was read and stored again"
    assert second.files["other"].sha256 != first.files["other"].sha256


async def test_an_unchanged_workspace_is_not_stored_again(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await shell(lab, FILL)
        wait_for_the_clock()
        first = await lab.snapshot(tmp_path)
        written = sorted(tmp_path.rglob("*"))
        assert (await lab.snapshot(tmp_path, first)).id == first.id
        assert sorted(tmp_path.rglob("*")) == written
        await shell(lab, "rm link")
        assert (await lab.snapshot(tmp_path, first)).id != first.id


async def test_a_change_that_keeps_size_and_modification_time_is_noticed(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await shell(lab, "echo one > a; touch -d 2001-02-03 a")
        first = await lab.snapshot(tmp_path)
        await shell(lab, "echo two > a; touch -d 2001-02-03 a")
        second = await lab.snapshot(tmp_path, first)
        await lab.restore(tmp_path, second)
        assert await lab.read("a", max_size=10) == b"two\n"


async def test_equal_files_are_stored_once_and_nothing_links_into_the_workspace(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await shell(lab, "echo same > a; echo same > b")
        kept = await lab.snapshot(tmp_path)
        objects = list((tmp_path / "objects").iterdir())
        assert len(objects) == 1
        assert objects[0].stat().st_nlink == 1
        await shell(lab, "echo evil > a")
        assert objects[0].read_bytes() == b"same\n"
        assert kept.size == 10


def test_a_missing_snapshot_is_named(tmp_path: Path):
    with pytest.raises(RecordError, match="ab" * 32):
        snapshots.load_snapshot(tmp_path, "ab" * 32)


def wait_for_the_clock() -> None:
    """Wait until a snapshot trusts the times of files that were just written."""
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        time.sleep(0.01)


async def test_sparse_files_take_as_little_space_in_the_store_as_in_the_workspace(opened: Open, tmp_path: Path):
    limits = dataclasses.replace(SMALL, disk=100 * 10**6)
    async with opened(limits=limits) as lab:
        await shell(lab, "for n in 1 2 3 4 5 6; do truncate --size 50M $n; echo $n | dd of=$n conv=notrunc; done")
        kept = await lab.snapshot(tmp_path)
        assert stored_bytes(tmp_path) < 10**6
        # truncate counts in units of 1,048,576 bytes, so one of these fits into a disk of 100,000,000.
        assert (list(kept.files), kept.left_out) == (["1"], ("2", "3", "4", "5", "6"))
        await lab.restore(tmp_path, kept)
        restored = await shell(lab, "stat --format %b 1; head --bytes 1 1")
        blocks, start = restored.stdout.text.split()
        assert (int(blocks) * 512 < 10**6, start) == (True, "1")


async def test_many_names_of_one_large_file_are_read_once_and_bounded_by_the_disk_limit(opened: Open, tmp_path: Path):
    async with opened(limits=SMALL) as lab:
        await shell(lab, "head --bytes 3M /dev/urandom > a; for n in 1 2 3 4 5 6 7 8 9; do ln a b$n; done")
        before = read_bytes()
        kept = await lab.snapshot(tmp_path)
        assert read_bytes() - before < 9 * 2**20, "every name was read"
    assert kept.size <= SMALL.disk
    assert kept.left_out, "ten names of three megabytes do not fit into sixteen"
    assert len(list((tmp_path / "objects").iterdir())) == 1


async def test_a_file_that_keeps_changing_cannot_fill_the_disk_of_the_host(opened: Open, tmp_path: Path):
    limits = dataclasses.replace(SMALL, disk=4 * 10**6)
    kept = None
    async with opened(limits=limits) as lab:
        for number in range(20):
            await shell(lab, f"head --bytes 3M /dev/urandom > large; echo {number} > script.py")
            kept = await lab.snapshot(tmp_path, kept)
        assert kept is not None and (list(kept.files), kept.left_out) == (["script.py"], ("large",))
    assert stored_bytes(tmp_path) < QUOTA_FACTOR * limits.disk
    # A trial that is resumed has no more space than before.
    async with opened(limits=limits) as lab:
        await shell(lab, "head --bytes 3M /dev/urandom > large")
        assert (await lab.snapshot(tmp_path)).left_out == ("large",)


def test_names_that_keep_changing_end_the_work_at_last(tmp_path: Path):
    work, store = tmp_path / "work", tmp_path / "store"
    work.mkdir()
    quota = StoreQuota(store, 100_000)
    with pytest.raises(UnsafePath, match="snapshots of the workspace take more"):
        for number in range(200):
            (work / f"{number}").touch()
            take_snapshot(work, store, max_size=10**6, quota=quota)
    assert stored_bytes(store) < 200_000


@pytest.mark.parametrize("how", ["path", "link", "other content"])
async def test_content_that_a_strangers_snapshot_names_is_not_restored(
    opened: Open, answers: Path, secret: str, tmp_path: Path, how: str
):
    # A record may come from anyone: it must not bring a file of this machine into a lab.
    async with opened() as lab:
        await lab.write("a", b"mine")
        kept = await lab.snapshot(tmp_path)
        file = kept.files["a"]
        planted = tmp_path / "objects" / file.sha256
        if how == "path":
            relative = os.path.relpath(answers, tmp_path / "objects")
            file = dataclasses.replace(file, sha256=relative)
        else:
            planted.unlink()
            planted.symlink_to(answers) if how == "link" else planted.write_text(secret)
        with pytest.raises(RecordError):
            await lab.restore(tmp_path, dataclasses.replace(kept, files={"a": file}))
        with pytest.raises(RecordError):
            snapshots.read_object(tmp_path, file.sha256)
        assert secret not in (await shell(lab, "cat *")).stdout.text


async def test_a_manifest_that_does_not_match_its_id_is_refused(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await lab.write("a", b"mine")
        id = (await lab.snapshot(tmp_path)).id
    manifest = tmp_path / "manifests" / f"{id}.json"
    manifest.write_text(manifest.read_text().replace('"a"', '"b"'))
    with pytest.raises(RecordError, match="does not match"):
        snapshots.load_snapshot(tmp_path, id)


def stored_bytes(store: Path) -> int:
    """Return how much disk space the objects of a store take."""
    return sum(path.stat().st_blocks * 512 for path in (store / "objects").iterdir())


def read_bytes() -> int:
    """Return how many bytes this process has read so far."""
    return int(Path("/proc/self/io").read_text().split()[1])


def manifest_bytes(store: Path) -> int:
    return sum(path.stat().st_size for path in (store / "manifests").iterdir())


def take_many(
    root: Path, store: Path, count: int, before: snapshots.Snapshot | None = None
) -> list[snapshots.Snapshot]:
    """Take snapshots of a workspace to which each round adds a folder, replaces a file, and removes a link."""
    root.mkdir(exist_ok=True)
    taken = []
    for number in range(count):
        (root / f"node-{number}").mkdir()
        (root / f"node-{number}" / "solution.py").write_text(f"print({number})")
        (root / "best.py").write_text(f"print({number})")
        (root / f"link-{number % 2}").unlink(missing_ok=True)
        (root / f"link-{(number + 1) % 2}").symlink_to("best.py")
        before = take_snapshot(root, store, before, max_size=10**9)
        taken.append(before)
    return taken


def test_manifests_grow_with_the_changes_and_every_snapshot_can_be_read(tmp_path: Path):
    take_many(tmp_path / "half", tmp_path / "small", 120)
    taken = take_many(tmp_path / "work", tmp_path / "store", 240)
    # Twice the changes take twice the space, and a complete manifest more or less; complete ones would take four times.
    ratio = manifest_bytes(tmp_path / "store") / manifest_bytes(tmp_path / "small")
    assert ratio < 2.6
    reader = snapshots.SnapshotReader(tmp_path / "store")
    for snapshot in taken:
        alone = snapshots.load_snapshot(tmp_path / "store", snapshot.id)
        assert alone == snapshot == reader.load(snapshot.id)
        assert (alone.chain, alone.complete, alone.differences) == (
            snapshot.chain,
            snapshot.complete,
            snapshot.differences,
        )
        assert alone.differences <= alone.complete, "reading it costs at most twice a complete manifest"
    assert [reader.load(snapshot.id) for snapshot in reversed(taken)] == taken[::-1]
    snapshots.restore_snapshot(tmp_path / "half", tmp_path / "store", taken[-1], owner=None)
    assert sorted(path.name for path in (tmp_path / "half").iterdir()) == sorted(
        path.name for path in (tmp_path / "work").iterdir()
    )


def test_small_differences_to_a_large_workspace_do_not_make_an_endless_chain(tmp_path: Path):
    root = tmp_path / "work"
    root.mkdir()
    for number in range(3000):  # not files: those that were just written are listed again
        (root / f"{number}").symlink_to("x" * 100)
    snapshot = take_snapshot(root, tmp_path / "store", max_size=10**9)
    lengths = []
    for number in range(300):
        (root / f"{number}").rename(root / f"x{number}")
        snapshot = take_snapshot(root, tmp_path / "store", snapshot, max_size=10**9)
        lengths.append(len(snapshot.chain))
    assert max(lengths) == 257 and lengths[-1] == 300 - 256


WORK = """
from pathlib import Path
from assay.lab.snapshots import take_snapshot
root, store, before = Path({root!r}), Path({store!r}), None
for number in range(10**6):
    (root / str(number)).write_text("x" * 5000 + str(number))
    before = take_snapshot(root, store, before, max_size=10**9)
    print(before.id, flush=True)
"""


def test_a_killed_process_leaves_no_snapshot_that_cannot_be_read(tmp_path: Path):
    root, store = tmp_path / "work", tmp_path / "store"
    root.mkdir()
    code = WORK.format(root=str(root), store=str(store))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        ids = [process.stdout.readline().strip() for _ in range(60)]
        process.kill()
        ids += process.stdout.read().split()
    whole = [path.stem for path in (store / "manifests").iterdir() if not path.name.startswith(".")]
    assert set(ids) <= set(whole)
    for id in whole:
        for file in snapshots.load_snapshot(store, id).files.values():
            assert len(snapshots.read_object(store, file.sha256)) == file.size
    before = snapshots.load_snapshot(store, ids[-1])
    (root / "next").write_text("after the crash")
    after = take_snapshot(root, store, before, max_size=10**9)
    assert snapshots.load_snapshot(store, after.id) == after and "next" in after.files


def test_complete_manifests_and_plain_objects_of_earlier_versions_are_read_and_continued(tmp_path: Path):
    root, store, content = tmp_path / "work", tmp_path / "store", b"a,b\n" * 5000
    for folder in (root, store / "objects", store / "manifests"):
        folder.mkdir(parents=True)
    digest = hashlib.sha256(content).hexdigest()
    (store / "objects" / digest).write_bytes(content)
    files = {f"{number}.csv": evil_file(sha256=digest, size=len(content)) for number in range(20)}
    text = json.dumps({"format": "snapshot/1", "files": files, "folders": {}, "links": {}, "left_out": []})
    id = hashlib.sha256(text.encode()).hexdigest()
    (store / "manifests" / f"{id}.json").write_text(text)
    old = snapshots.load_snapshot(store, id)
    snapshots.restore_snapshot(root, store, old, owner=None)
    assert (root / "7.csv").read_bytes() == content == snapshots.read_object(store, digest)
    new = take_snapshot(root, store, old, max_size=10**9)
    (root / "new.csv").write_bytes(content)
    newer = take_snapshot(root, store, new, max_size=10**9)
    assert json.loads((store / "manifests" / f"{newer.id}.json").read_text())["base"] == new.id
    assert [path.name for path in (store / "objects").iterdir()] == [digest], "the content is stored once"
    assert snapshots.load_snapshot(store, newer.id) == newer


async def test_files_that_shrink_are_stored_compressed_and_restored_exactly(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await lab.write("table.csv", b"id,value\n" + b"1,0.5\n" * 20_000)
        await shell(lab, "head --bytes 50000 /dev/urandom > noise; touch -d 2001-02-03 table.csv; sha256sum * > sums")
        kept = await lab.snapshot(tmp_path)
        names = {path.name for path in (tmp_path / "objects").iterdir()}
        assert {f"{kept.files['table.csv'].sha256}.zlib", kept.files["noise"].sha256} <= names
        assert stored_bytes(tmp_path) < 50_000 + 20_000
        await shell(lab, "rm *")
        await lab.restore(tmp_path, kept)
        after = await shell(lab, "sha256sum --check --quiet sums && date -r table.csv +%F")
    assert after.stdout.text == "2001-02-03\n"
    assert len(snapshots.read_object(tmp_path, kept.files["table.csv"].sha256)) == 120_009


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (zlib.compress(bytes(10**8)), "at most"),
        (zlib.compress(b"other"), "does not match"),
        (b"not compressed", "cannot be read"),
        (zlib.compress(EVIL_TEXT)[:-9], "does not match"),
    ],
    ids=["a bomb", "other content", "not compressed", "cut off"],
)
def test_a_compressed_object_that_is_not_what_it_should_be_is_refused(tmp_path: Path, content: bytes, reason: str):
    digest = hashlib.sha256(EVIL_TEXT).hexdigest()
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects" / f"{digest}.zlib").write_bytes(content)
    with pytest.raises(RecordError, match=reason):
        snapshots.read_object(tmp_path, digest)
    (tmp_path / "objects" / f"{digest}.zlib").write_bytes(zlib.compress(EVIL_TEXT))
    assert snapshots.read_object(tmp_path, digest) == EVIL_TEXT


HOSTILE_DIFFERENCES: dict[str, dict[str, object]] = {
    "no base": {"base": None},
    "a base that is a path": {"base": "../../x"},
    "a base that is missing": {"base": "0" * 64},
    "a removed file that the base does not have": {"removed": {"files": ["x"], "folders": [], "links": []}},
    "removed names that are a number": {"removed": {"files": 1, "folders": [], "links": []}},
    "removed names of another kind": {"removed": {"files": [], "folders": [], "links": [], "devices": []}},
    "no removed names": {"removed": None},
    "an unknown key": {"chain": ["0" * 64]},
    "a mode that is text": {"folders": {"f": "x"}},
    "excluded files that are a number": {"left_out": 3},
}


@pytest.mark.parametrize("change", HOSTILE_DIFFERENCES.values(), ids=HOSTILE_DIFFERENCES)
def test_a_hostile_difference_is_refused(tmp_path: Path, change: dict[str, object]):
    (tmp_path / "work").mkdir()
    base = take_snapshot(tmp_path / "work", tmp_path, max_size=10**9)
    empty: dict[str, object] = {"files": {}, "folders": {}, "links": {}}
    removed: dict[str, object] = {"files": [], "folders": [], "links": []}
    for changes, refused in (({}, False), (change, True)):
        content = {"format": "snapshot/2", "base": base.id, **empty, "removed": removed, **changes}
        text = json.dumps(content)
        id = hashlib.sha256(text.encode()).hexdigest()
        (tmp_path / "manifests" / f"{id}.json").write_text(text)
        with pytest.raises(RecordError) if refused else nullcontext():
            assert snapshots.load_snapshot(tmp_path, id) == base


EVIL = b"evil"
EVIL_DIGEST = hashlib.sha256(EVIL).hexdigest()


def evil_file(**changes: object) -> dict[str, object]:
    file: dict[str, object] = {"sha256": EVIL_DIGEST, "mode": 0o644, "size": 4, "inode": 1}
    return {**file, "ctime_ns": 0, "mtime_ns": 0, **changes}


HOSTILE_MANIFESTS: dict[str, dict[str, object]] = {
    "a file above": {"files": {"../x": evil_file()}},
    "an absolute file": {"files": {"/tmp/x": evil_file()}},
    "a folder above": {"folders": {"../f": 0o777}},
    "a link above": {"links": {"../l": "/etc/passwd"}},
    "a file through a link": {"files": {"l/x": evil_file()}, "links": {"l": "/tmp"}},
    "a mode that is text": {"files": {"s": evil_file(mode="x")}},
    "a mode that no number holds": {"files": {"s": evil_file(mode=10**30)}},
    "no time": {"files": {"s": evil_file(mtime_ns=None)}},
    "no digest": {"files": {"s": evil_file(sha256=None)}},
    "a digest that is a path": {"files": {"s": evil_file(sha256="../../../etc/passwd")}},
    "a zero byte": {"files": {"a\0b": evil_file()}},
    "a long name": {"files": {"a" * 5000: evil_file()}},
    "no name": {"files": {"": evil_file()}},
    "a list of files": {"files": []},
    "an unknown key": {"more": 1},
    "a link to a list": {"links": {"l": [1]}},
    "a link with a zero byte": {"links": {"l": "a\0"}},
    "a folder's mode that is text": {"folders": {"f": "x"}},
    "a file that is a folder": {"files": {"f": evil_file()}, "folders": {"f": 0o777}},
    "a file that is a link": {"files": {"f": evil_file()}, "links": {"f": "x"}},
}


@pytest.mark.parametrize("manifest", HOSTILE_MANIFESTS.values(), ids=HOSTILE_MANIFESTS)
def test_a_hostile_snapshot_is_refused_and_writes_nothing_outside(tmp_path: Path, manifest: dict[str, object]):
    store, root = tmp_path / "store", tmp_path / "lab" / "root"
    root.mkdir(parents=True)
    for name in ("objects", "manifests"):
        (store / name).mkdir(parents=True)
    (store / "objects" / EVIL_DIGEST).write_bytes(EVIL)
    empty: dict[str, object] = {"format": "snapshot/1", "files": {}, "folders": {}, "links": {}, "left_out": []}
    text = json.dumps(empty | manifest).encode()
    digest = hashlib.sha256(text).hexdigest()
    (store / "manifests" / f"{digest}.json").write_bytes(text)
    with pytest.raises((RecordError, UnsafePath)):
        snapshots.restore_snapshot(root, store, snapshots.load_snapshot(store, digest), owner=None)
    assert [path.name for path in tmp_path.iterdir() if path != store] == ["lab"]
    assert list((tmp_path / "lab").iterdir()) == [root]


def test_a_content_beyond_the_size_that_is_compressed_can_be_read(tmp_path: Path) -> None:
    content = b"0123456,0.5\n" * (2**26 // 12 + 1)
    digest = snapshots.store_object(tmp_path, content)
    assert [path.name for path in (tmp_path / "objects").iterdir()] == [digest]
    assert snapshots.read_object(tmp_path, digest) == content
