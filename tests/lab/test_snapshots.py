"""Snapshots keep a workspace exactly, and cost nothing for what did not change."""

import time
from pathlib import Path

import pytest
from inside import Open, shell

from assay.core.errors import RecordError
from assay.lab import snapshots

pytestmark = pytest.mark.anyio

FURNISH = """
echo one > a.txt; mkdir -p deep/er empty; echo two > deep/er/b.txt; ln -s a.txt link; ln -s /nowhere broken
printf '#!/bin/sh\\n' > run.sh; chmod 750 run.sh; chmod 700 deep; touch -d 2001-02-03 a.txt
"""
LIST = """
find . -mindepth 1 -type d -printf '%p %m\\n' -or -mindepth 1 -printf '%p %y %m %s %l %TY-%Tm-%Td\\n' | sort
cat a.txt deep/er/b.txt
"""


async def test_restoring_is_exact(opened: Open, tmp_path: Path):
    async with opened() as lab:
        assert (await shell(lab, FURNISH)).succeeded
        before = (await shell(lab, LIST)).stdout.text
        kept = await lab.snapshot(tmp_path)
        await shell(lab, "echo three > a.txt; rm -r deep link run.sh; mkdir run.sh; touch new; rmdir empty")
        assert (await shell(lab, LIST)).stdout.text != before
        await lab.restore(tmp_path, kept)
        assert (await shell(lab, LIST)).stdout.text == before
        assert (await shell(lab, "echo more >> deep/er/b.txt")).succeeded, "the agent owns what was restored"


async def test_a_snapshot_is_restored_in_another_lab_from_its_id(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await shell(lab, FURNISH)
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
    assert not (tmp_path / "objects" / first.files["same"].sha256).exists(), "it was read and kept once more"
    assert second.files["other"].sha256 != first.files["other"].sha256


async def test_a_workspace_in_which_nothing_changed_is_not_written_down_again(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await shell(lab, FURNISH)
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


async def test_equal_files_are_kept_once_and_nothing_links_into_the_workspace(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await shell(lab, "echo same > a; echo same > b")
        kept = await lab.snapshot(tmp_path)
        objects = list((tmp_path / "objects").iterdir())
        assert len(objects) == 1
        assert objects[0].stat().st_nlink == 1
        await shell(lab, "echo evil > a")
        assert objects[0].read_bytes() == b"same\n"
        assert kept.size == 10


def test_a_missing_snapshot_says_which(tmp_path: Path):
    with pytest.raises(RecordError, match="abc"):
        snapshots.load_snapshot(tmp_path, "abc")


def wait_for_the_clock() -> None:
    """Let the time pass in which a snapshot does not trust the clock of the file system."""
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        time.sleep(0.01)
