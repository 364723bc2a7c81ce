"""Code in a lab plants traps for the host, which reads, walks, snapshots, restores and deletes the workspace."""

import os
import tracemalloc
from pathlib import Path, PurePosixPath

import pytest
from inside import Open, python, shell

from assay.core.errors import UnsafePath
from assay.lab import workspace
from assay.lab.snapshots import take_snapshot

pytestmark = pytest.mark.anyio


async def test_a_link_to_the_answers_is_not_read(opened: Open, answers: Path, secret: str):
    async with opened() as lab:
        await shell(lab, f"ln -s {answers} submission.csv")
        with pytest.raises(UnsafePath, match="is a link"):
            await lab.read("submission.csv", max_size=1000)
        assert [path async for path in lab.files()] == []


async def test_a_linked_folder_is_not_entered(opened: Open, answers: Path):
    async with opened() as lab:
        await shell(lab, f"ln -s {answers.parent} out")
        with pytest.raises(UnsafePath, match="plain folders"):
            await lab.read(f"out/{answers.name}", max_size=1000)
        with pytest.raises(UnsafePath, match="plain folders"):
            await lab.write("out/planted", b"x")
    assert [file.name for file in answers.parent.iterdir()] == [answers.name]


async def test_a_folder_swapped_for_a_link_between_two_reads_is_noticed(opened: Open, answers: Path):
    async with opened() as lab:
        await lab.write(f"out/{answers.name}", b"mine")
        assert await lab.read(f"out/{answers.name}", max_size=1000) == b"mine"
        await shell(lab, f"mv out away && ln -s {answers.parent} out")
        with pytest.raises(UnsafePath, match="plain folders"):
            await lab.read(f"out/{answers.name}", max_size=1000)


async def test_writing_replaces_a_link_and_not_what_it_points_to(opened: Open, answers: Path, secret: str):
    async with opened() as lab:
        await shell(lab, f"ln -s {answers} notes.txt")
        await lab.write("notes.txt", b"ours")
        assert await lab.read("notes.txt", max_size=10) == b"ours"
    assert answers.read_text() == secret


@pytest.mark.parametrize("path", ["../answers.csv", "/etc/passwd", "a/../../x", "", ".", "a\0b"])
async def test_a_path_that_leaves_the_workspace_is_refused(opened: Open, path: str):
    async with opened() as lab:
        with pytest.raises(UnsafePath, match="not a path inside"):
            await lab.read(path, max_size=10)
        with pytest.raises(UnsafePath, match="not a path inside"):
            await lab.write(path, b"")


async def test_a_pipe_does_not_block_the_host(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await shell(lab, "mkfifo submission.csv")
        with pytest.raises(UnsafePath, match="not a regular file"):
            await lab.read("submission.csv", max_size=10)
        kept = await lab.snapshot(tmp_path)
    assert kept.left_out == ("submission.csv",)


async def test_a_folder_is_not_read_and_nothing_stays_open(opened: Open):
    async with opened() as lab:
        await shell(lab, "mkdir submission.csv")
        handles = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(3):
            with pytest.raises(UnsafePath, match="is a folder"):
                await lab.read("submission.csv", max_size=10)
        assert len(list(Path("/proc/self/fd").iterdir())) <= handles + 1  # a thread may have been started


async def test_a_socket_is_not_read(opened: Open):
    async with opened() as lab:
        await python(lab, "import socket; socket.socket(socket.AF_UNIX).bind('submission.csv')")
        with pytest.raises(UnsafePath, match="not a regular file"):
            await lab.read("submission.csv", max_size=10)


def test_a_device_is_not_read():
    with pytest.raises(UnsafePath, match="not a regular file"):
        workspace.read_file(Path("/dev"), "zero", max_size=10)


async def test_a_file_larger_than_the_maximum_is_refused(opened: Open):
    async with opened() as lab:
        await shell(lab, "truncate --size 1T huge || truncate --size 1G huge")
        with pytest.raises(UnsafePath, match="larger than 1,000 bytes"):
            await lab.read("huge", max_size=1000)


async def test_hard_links_are_restored_as_separate_files(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await shell(lab, "echo one > a && ln a b")
        kept = await lab.snapshot(tmp_path)
        await lab.restore(tmp_path, kept)
        await shell(lab, "echo two > a")
        assert await lab.read("b", max_size=10) == b"one\n"


async def test_names_that_are_not_text_are_listed_and_restored(opened: Open, tmp_path: Path):
    names = ["a\nb", "c\udcff", "-rf", " ", "x" * 255]
    plant = "import os\nfor name in (b'a\\nb', b'c\\xff', b'-rf', b' ', b'x' * 255): open(name, 'w').write('1')"
    async with opened() as lab:
        assert (await python(lab, plant)).succeeded
        assert {path async for path in lab.files()} == {PurePosixPath(name) for name in names}
        kept = await lab.snapshot(tmp_path)
        await shell(lab, "rm -- *")
        await lab.restore(tmp_path, kept)
        assert {path async for path in lab.files()} == {PurePosixPath(name) for name in names}
        assert await lab.read("c\udcff", max_size=10) == b"1"


DEEP = """
import os, sys
for _ in range(4000):
    os.mkdir('d')
    os.chdir('d')
open('bottom', 'w').close()
"""


async def test_a_tree_of_4000_folders_is_walked_stored_and_deleted(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await lab.write("top", b"")
        # Where disk usage is polled, a folder that is too deep to be counted exceeds the limit.
        polled = "polled" in lab.sealing.enforced["disk"]
        assert (await python(lab, DEEP)).ended == ("disk" if polled else "exit")
        assert [path async for path in lab.files()] == [PurePosixPath("top")]
        kept = await lab.snapshot(tmp_path)
        assert len(kept.left_out) == 1
        await lab.restore(tmp_path, kept)
        assert len(kept.folders) == workspace.MAX_DEPTH - 1


def test_deletion_works_at_any_depth_and_follows_no_link(tmp_path: Path):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").touch()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(victim)
    os.mkfifo(tree / "pipe")
    start = Path.cwd()
    os.chdir(tree)
    try:
        for _ in range(2100):  # more than may be open at once, and more than fit in one path
            Path("d").mkdir()
            Path("link").symlink_to(victim) if not Path("link").is_symlink() else None
            os.chdir("d")
        Path("closed").mkdir(mode=0)
    finally:
        os.chdir(start)
    workspace.remove_tree(tree)
    assert not tree.exists()
    assert [file.name for file in victim.iterdir()] == ["file"]
    workspace.remove_tree(tree)


def test_a_workspace_with_too_many_names_is_refused_in_bounded_memory(tmp_path: Path):
    for number in range(30):
        (tmp_path / str(number)).touch()
    assert len(list(workspace.walk(tmp_path, max_entries=30))) == 30
    with pytest.raises(UnsafePath, match="more than 20 names"):
        list(workspace.walk(tmp_path, max_entries=20))


def test_an_unfinished_walk_closes_its_folders(tmp_path: Path):
    (tmp_path / "a/b/c").mkdir(parents=True)
    before = len(list(Path("/proc/self/fd").iterdir()))
    walk = workspace.walk(tmp_path)
    next(walk), next(walk)
    walk.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


async def test_the_data_folder_is_not_written_listed_or_stored(opened: Open, public: Path, tmp_path: Path):
    async with opened(data=public) as lab:
        with pytest.raises(UnsafePath, match="read-only"):
            await lab.write("data/planted", b"")
        await lab.write("mine", b"")
        assert [str(path) async for path in lab.files()] == ["mine"]
        assert list((await lab.snapshot(tmp_path)).files) == ["mine"]
        assert (await shell(lab, "cat data/train.csv")).succeeded


def test_large_folders_inside_each_other_are_refused_before_all_their_names_are_in_memory(tmp_path: Path):
    folder = tmp_path
    for _ in range(5):
        for number in range(50):
            (folder / f"file{number}").touch()
        folder = folder / "0"
        folder.mkdir()
    seen = 0
    with pytest.raises(UnsafePath, match="more than 150 names"):
        for _ in workspace.walk(tmp_path, max_entries=150):
            seen += 1
    # The folder "0" sorts first, so each level is listed before any file of the levels above is visited.
    assert seen == 1


def test_few_names_with_long_paths_are_refused_before_they_fill_the_memory(tmp_path: Path):
    folder = os.open(tmp_path, os.O_RDONLY)
    for _ in range(60):  # 15,360 characters, which the code of an agent can reach one folder at a time
        os.mkdir("x" * 255, dir_fd=folder)
        inner = os.open("x" * 255, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("file", os.O_CREAT, dir_fd=folder))
    for number in range(3_000):
        os.link("file", str(number), src_dir_fd=folder, dst_dir_fd=folder)
    os.close(folder)
    tracemalloc.start()
    try:
        with pytest.raises(UnsafePath, match="characters"):
            take_snapshot(tmp_path, tmp_path.with_name("store"), max_size=10**9)
        assert tracemalloc.get_traced_memory()[1] < 3 * workspace.MAX_CHARACTERS
    finally:
        tracemalloc.stop()
        workspace.remove_tree(tmp_path)


def test_the_targets_of_links_count_as_paths(tmp_path: Path):
    for number in range(3):
        (tmp_path / str(number)).symlink_to("x" * 4_000)
    with pytest.raises(UnsafePath, match="characters"):
        list(workspace.walk(tmp_path, max_characters=10_000))


async def test_a_workspace_that_cannot_be_entered_is_not_an_infrastructure_failure(opened: Open, tmp_path: Path):
    async with opened() as lab:
        await lab.write("kept", b"x")
        assert (await shell(lab, "chmod 0 /workspace")).succeeded
        assert (await shell(lab, "cat kept; pwd")).stdout.text == "x/workspace\n"
        assert (await shell(lab, "chmod 0 /workspace")).succeeded
        assert list((await lab.snapshot(tmp_path)).files) == ["kept"]
        # Code that keeps doing so next to another command makes that one fail at most.
        spoil = "import os\nprint(1, flush=True)\nwhile True: os.chmod('/workspace', 0)"
        process = await lab.start(["python", "-c", spoil])
        await process.receive(1)
        ended = [(await shell(lab, "true")).ended for _ in range(10)]
        assert set(ended) == {"exit"}
        await process.kill()
