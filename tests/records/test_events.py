"""The event log: durable, append-only, chained."""

import json
from pathlib import Path

import pytest

from assay.core.errors import RecordError
from assay.records import EventLog, read_events


def write(path: Path, count: int, epoch: int = 1) -> None:
    with EventLog(path, epoch) as log:
        for number in range(count):
            log.append("action", text=f"line\n{number} ü")


def test_events_come_back_as_they_were_written(tmp_path: Path):
    write(tmp_path / "events.jsonl", 3)
    events = read_events(tmp_path / "events.jsonl")
    assert [event.number for event in events] == [0, 1, 2]
    assert [event.about for event in events] == [{"text": f"line\n{number} ü"} for number in range(3)]


def test_an_added_event_is_in_the_file_at_once_and_in_the_chain(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    with EventLog(path, 1) as log:
        log.add("action", text="first")
        assert [event.about for event in read_events(path)] == [{"text": "first"}]
        log.append("observation", text="second")
    assert [(event.number, event.kind) for event in read_events(path)] == [(0, "action"), (1, "observation")]


def test_a_second_writer_continues_numbers_and_chain(tmp_path: Path):
    write(tmp_path / "events.jsonl", 2, epoch=1)
    write(tmp_path / "events.jsonl", 2, epoch=2)
    assert [(event.number, event.epoch) for event in read_events(tmp_path / "events.jsonl")] == [
        (0, 1),
        (1, 1),
        (2, 2),
        (3, 2),
    ]


@pytest.mark.parametrize("torn", [1, 20, 60])
def test_a_torn_last_line_is_cut_before_appending(tmp_path: Path, torn: int):
    path = tmp_path / "events.jsonl"
    write(path, 3)
    path.write_bytes(path.read_bytes()[:-torn])
    assert len(read_events(path)) == 2
    write(path, 1)
    assert [event.number for event in read_events(path)] == [0, 1, 2]


@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_changed_line_is_found(tmp_path: Path, line: int):
    path = tmp_path / "events.jsonl"
    write(path, 3)
    lines = path.read_text().splitlines()
    content = json.loads(lines[line])
    content["text"] = "something nicer"
    lines[line] = json.dumps(content, separators=(",", ":"))
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordError, match=f"line {line + 1}"):
        read_events(path)


@pytest.mark.parametrize("line", [0, 1])
def test_a_removed_line_is_found(tmp_path: Path, line: int):
    path = tmp_path / "events.jsonl"
    write(path, 3)
    lines = path.read_text().splitlines()
    del lines[line]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordError, match="chain"):
        read_events(path)


def test_a_line_that_is_no_event_is_named(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    path.write_text("[1, 2]\n")
    with pytest.raises(RecordError, match="line 1: not an event"):
        read_events(path)
