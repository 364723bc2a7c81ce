"""The history of a board: appended, chained, and kept when an entry is withdrawn."""

import hashlib
import json
import signal
import threading
import urllib.request
from pathlib import Path

import pytest

from assay.board.folder import BoardEntry, BoardFolder, RunInfo
from assay.board.history import append_event, read_history
from assay.board.seeds import find_sealed_variants
from assay.core.disk import write_json
from assay.core.errors import AssayError, RecordError
from assay.data.store import load_prepared
from assay.tasks import Registry
from assay.web.server import serve_files
from command_line import Assay
from tiny_run import TESTS

DIGEST = "ab12" * 16


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """A board with an entry."""
    entry = BoardEntry(
        digest=DIGEST, added_at="2026-11-01T10:00:00+00:00", info=RunInfo(), grade=None, signed_by=None,
        established=(), not_established=(), trials=1, regraded=0, removed=0, fingerprints=(),
    )  # fmt: skip
    (tmp_path / "entries" / entry.name).mkdir(parents=True)
    write_json(tmp_path / "entries" / entry.name / "entry.json", entry.model_dump(mode="json"))
    append_event(tmp_path, "added", entry.name, entry.digest)
    return tmp_path


def test_a_withdrawn_entry_stays_in_the_history(board: Path, assay: Assay):
    done = assay("board", "withdraw", board, "ab12", "--reason", "the agent had the answers")
    assert done.returncode == 0, done.stderr
    assert BoardFolder(board).entries() == []
    assert [path.name[:16] for path in (board / "withdrawn").iterdir()] == [DIGEST[:16]]
    assert [(event.action, event.reason) for event in read_history(board)] == [
        ("added", ""),
        ("withdrawn", "the agent had the answers"),
    ]
    assert "the agent had the answers" in assay("board", "history", board).stdout


def test_a_changed_or_removed_line_is_noticed(board: Path):
    append_event(board, "withdrawn", DIGEST[:16], DIGEST, "why")
    lines = (board / "history.jsonl").read_text().splitlines(keepends=True)
    (board / "history.jsonl").write_text(lines[1])
    with pytest.raises(RecordError, match="the history was changed"):
        read_history(board)
    (board / "history.jsonl").write_text(lines[0].replace("added", "withdrawn") + lines[1])
    with pytest.raises(RecordError, match="the history was changed"):
        read_history(board)


def test_an_unknown_entry_cannot_be_withdrawn(board: Path):
    with pytest.raises(AssayError, match="0 entries"):
        BoardFolder(board).withdraw("ffff", "why")


def test_sealed_seeds_are_published_by_their_hash_and_then_revealed(tmp_path: Path, assay: Assay):
    done = assay("board", "seal", tmp_path, "--seeds", "2")
    assert done.returncode == 0, done.stderr
    sealed = json.loads((tmp_path / "sealed.json").read_text())
    assert (tmp_path / "sealed.json").stat().st_mode & 0o077 == 0
    content = json.dumps({"salt": sealed["salt"], "seeds": sealed["seeds"]}, sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()
    (event,) = read_history(tmp_path)
    assert event.action == "sealed" and event.digest == digest and digest in done.stdout
    assert not any(str(seed) in event.model_dump_json() for seed in sealed["seeds"])
    assert find_sealed_variants(tmp_path) == {f"synthetic-{seed}" for seed in sealed["seeds"]}
    assert assay("board", "seal", tmp_path).returncode == 2
    assert assay("board", "reveal", tmp_path).returncode == 0
    assert read_history(tmp_path)[-1].reason == content
    assert find_sealed_variants(tmp_path) == frozenset()


def test_other_seeds_than_the_sealed_ones_cannot_be_revealed(tmp_path: Path, assay: Assay):
    assert assay("board", "seal", tmp_path).returncode == 0
    sealed = json.loads((tmp_path / "sealed.json").read_text())
    (tmp_path / "sealed.json").write_text(json.dumps({**sealed, "seeds": [1, 2, 3]}))
    done = assay("board", "reveal", tmp_path)
    assert done.returncode == 1 and "not what was sealed" in done.stderr


def test_results_of_others_are_on_the_board_as_not_verified(tmp_path: Path, assay: Assay):
    rows = "".join(f"tb/t{task},mine,{seed},{(task + seed) % 2}\n" for task in range(6) for seed in range(2))
    (tmp_path / "results.csv").write_text("task,agent,seed,success\n" + rows)
    board, site = tmp_path / "board", tmp_path / "site"
    done = assay("board", "add", tmp_path / "results.csv", "--to", board, "--by", "Example Lab")
    assert done.returncode == 0 and "not verified" in done.stdout, done.stderr
    assert read_history(board)[0].reason == "not verified: csv"
    again = assay("board", "add", tmp_path / "results.csv", "--to", board)
    assert again.returncode == 2 and "on the board already" in again.stderr
    assert assay("board", "build", board, "--out", site, "--quiet").returncode == 0
    page = (site / "index.html").read_text()
    assert "not verified" in page and "Example Lab" in page and "mine" in page


@pytest.mark.slow
def test_an_entry_is_rescored_after_a_task_was_repaired(tiny, tmp_path: Path):
    assert tiny.call(*tiny.run_words("starter")).returncode == 0
    bundle, board = tmp_path / "run.zip", tmp_path / "board"
    tiny.call("export", str(tiny.out), "--out", str(bundle), "--submissions")
    assert tiny.call("board", "add", str(bundle), "--to", str(board)).returncode == 0
    (entry,) = BoardFolder(board).entries()
    unchanged = tiny.call("board", "rescore", str(board), entry.name, "--reason", "to be sure")
    assert unchanged.returncode == 0 and "No score changed" in unchanged.stdout, unchanged.stderr
    registry = Registry([TESTS / "tiny"])
    answers = load_prepared(tiny.home, registry.task("tiny/coin")).private / "answers.csv"
    answers.chmod(0o600)
    header, *lines = answers.read_text().splitlines()
    turned = [f"{line.partition(',')[0]},{1 - int(line.rpartition(',')[2])}" for line in lines]
    answers.write_text("\n".join([header, *turned, ""]))
    done = tiny.call("board", "rescore", str(board), entry.name, "--reason", "the sides were mixed up")
    assert done.returncode == 0 and "1 score changed." in done.stdout, done.stderr
    assert read_history(board)[-1].action == "rescored"
    assert "the sides were mixed up" in read_history(board)[-1].reason
    (grade,) = BoardFolder(board).rescored(entry).values()
    (trial,) = tiny.folder.trials()
    assert grade.score == pytest.approx(1 - trial.grade.score)


def test_a_board_is_served_on_this_machine(board: Path, tmp_path: Path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("the board")
    seen: list[str] = []

    def fetch(address: str) -> None:
        def read() -> None:
            with urllib.request.urlopen(address) as reply:
                seen.append(reply.read().decode())
            signal.raise_signal(signal.SIGINT)

        threading.Thread(target=read).start()

    with pytest.raises(KeyboardInterrupt):
        serve_files(site, 0, fetch)
    assert seen == ["the board"]
