"""The history of a board: appended, chained, and kept when an entry is withdrawn."""

from pathlib import Path

import pytest

from assay.core.disk import write_json
from assay.core.errors import AssayError, RecordError
from assay.results.board import BoardEntry, BoardFolder, RunInfo
from assay.results.board_history import append_event, read_history
from command_line import Assay

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
