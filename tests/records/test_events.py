"""The event log: durable, append-only, chained, typed."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from assay.core.errors import RecordError
from assay.records import EventLog, read_events
from assay.records.events import ActionRequest, CallStarted, NoteRequest, Restarted, SnapshotTaken
from assay.records.log import (
    START,
    compress_log,
    compressed_log,
    hash_log,
    is_torn,
    last_chain,
    log_size,
    open_log,
    read_events_backwards,
)


def write(path: Path, count: int, epoch: int = 1) -> None:
    with EventLog(path, epoch) as log:
        for number in range(count):
            log.append(Restarted(reason=f"line\n{number} ü"))


def test_events_are_read_as_they_were_written(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    with EventLog(path, 3) as log:
        written = [
            log.append(Restarted(reason="line\n0 ü")),
            log.append(CallStarted(step=1, request=ActionRequest(name="Fly", arguments={"to": ("a", 1)}))),
            log.append(SnapshotTaken(snapshot="0" * 64, step=1)),
        ]
    assert read_events(path) == written
    assert [(event.number, event.epoch, event.kind) for event in written] == [
        (0, 3, "restarted"),
        (1, 3, "call_started"),
        (2, 3, "snapshot_taken"),
    ]
    assert list(read_events_backwards(path)) == written[::-1]


def test_an_added_event_is_in_the_file_at_once_and_in_the_chain(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    with EventLog(path, 1) as log:
        first = log.add(Restarted(reason="first"))
        assert read_events(path) == [first]
        second = log.append(Restarted(reason="second"))
    assert read_events(path) == [first, second]
    assert last_chain(path) == second.chain != first.chain


def test_a_second_writer_continues_numbers_and_chain(tmp_path: Path):
    write(tmp_path / "events.jsonl", 2, epoch=1)
    write(tmp_path / "events.jsonl", 2, epoch=2)
    events = read_events(tmp_path / "events.jsonl")
    assert [(event.number, event.epoch) for event in events] == [(0, 1), (1, 1), (2, 2), (3, 2)]


def test_a_missing_log_is_empty(tmp_path: Path):
    assert read_events(tmp_path / "none") == list(read_events_backwards(tmp_path / "none")) == []
    assert last_chain(tmp_path / "none") == START


@pytest.mark.parametrize("torn", [1, 20, 60])
def test_a_torn_last_line_is_cut_before_appending(tmp_path: Path, torn: int):
    path = tmp_path / "events.jsonl"
    write(path, 3)
    path.write_bytes(path.read_bytes()[:-torn])
    assert len(read_events(path)) == len(list(read_events_backwards(path))) == 2
    write(path, 1)
    assert [event.number for event in read_events(path)] == [0, 1, 2]


@pytest.mark.parametrize("line", [0, 1, 2])
def test_a_changed_line_is_found(tmp_path: Path, line: int):
    path = tmp_path / "events.jsonl"
    write(path, 3)
    lines = path.read_text().splitlines()
    lines[line] = lines[line].replace("line", "something nicer")
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordError, match=f"line {line + 1}: the hash chain is broken"):
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


@pytest.mark.parametrize("text", ["[1, 2]\n", "{}\n", "\n", "x" * 100 + "\n"])
def test_a_line_that_is_not_an_event_is_found(tmp_path: Path, text: str):
    (tmp_path / "events.jsonl").write_text(text)
    with pytest.raises(RecordError, match="line 1"):
        read_events(tmp_path / "events.jsonl")


@pytest.mark.parametrize(
    "change",
    [{"kind": "invented"}, {"kind": 7}, {"reason": None}, {"extra": 1}, {"time": "yesterday"}],
)
def test_an_event_of_another_shape_is_refused_even_with_a_valid_chain(tmp_path: Path, change: dict[str, object]):
    path = tmp_path / "events.jsonl"
    write(path, 1)
    content = json.loads(path.read_text()) | change
    del content["chain"]
    body = json.dumps(content, separators=(",", ":"))
    import hashlib

    chain = hashlib.sha256((START + body).encode()).hexdigest()
    path.write_text(f'{body[:-1]},"chain":"{chain}"}}\n')
    with pytest.raises(RecordError, match="line 1: not an event"):
        read_events(path)


def test_text_that_cannot_be_encoded_is_replaced(tmp_path: Path):
    path = tmp_path / "events.jsonl"
    request = NoteRequest(topic="lone \ud800 surrogate", data={"text": "\udfff", "\ud800": 1})
    with EventLog(path, 1) as log:
        log.append(CallStarted(step=0, request=request))
    (event,) = read_events(path)
    assert isinstance(event, CallStarted) and event.request == request
    assert request.data == {"text": "?", "?": 1}


def test_unknown_fields_are_refused():
    with pytest.raises(ValidationError):
        Restarted(reason="", why="")  # type: ignore[call-arg]


def test_a_log_keeps_what_it_had_when_it_was_opened_and_what_is_added(tmp_path):
    path = tmp_path / "events.jsonl"
    with EventLog(path, 1) as log:
        log.append(Restarted(reason="first \ud800"))
        assert log.events == []
    with EventLog(path, 2, keep=True) as log:
        log.add(SnapshotTaken(snapshot="0" * 64, step=1))
        log.append(Restarted(reason="third"))
        kept = list(log.events)
    assert kept == read_events(path) and [event.number for event in kept] == [0, 1, 2]


def test_a_log_that_is_to_be_kept_must_consist_of_events(tmp_path):
    path = tmp_path / "events.jsonl"
    line = b'{"number":0,"kind":"unheard of"'
    chain = hashlib.sha256(b"0" * 64 + line + b"}").hexdigest()
    path.write_bytes(line + b',"chain":"%s"}\n' % chain.encode())
    with pytest.raises(RecordError, match="line 1: not an event"):
        EventLog(path, 1, keep=True)
    with EventLog(path, 1) as log:
        assert log.append(Restarted(reason="it can still be appended to")).number == 1


def test_a_compressed_log_is_read_as_before_and_continued_as_it_was(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, 60)
    events, digest, content = read_events(path), hash_log(path), path.read_bytes()
    compress_log(path, min_size=0)
    assert not path.exists() and gzip.decompress(compressed_log(path).read_bytes()) == content
    assert read_events(path) == list(read_events_backwards(path))[::-1] == events
    assert (last_chain(path), hash_log(path), is_torn(path)) == (events[-1].chain, digest, False)
    assert log_size(path) == compressed_log(path).stat().st_size < len(content) / 2
    with EventLog(path, 2, keep=True) as log:
        assert log.events == events
        added = log.append(Restarted(reason="more"))
    assert [file.name for file in tmp_path.iterdir()] == ["events.jsonl"]
    assert path.read_bytes().startswith(content) and read_events(path) == [*events, added]


def test_a_crash_between_compressing_a_log_and_removing_it_loses_nothing(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, 3)
    compressed_log(path).write_bytes(gzip.compress(path.read_bytes()))
    write(path, 1)
    assert len(read_events(path)) == 4 and not compressed_log(path).exists()


def test_a_short_log_is_not_compressed(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, 3)
    compress_log(path)
    assert [file.name for file in tmp_path.iterdir()] == ["events.jsonl"]


def test_a_compressed_log_does_not_unpack_to_much_more_than_its_size(tmp_path):
    path = tmp_path / "events.jsonl"
    compressed_log(path).write_bytes(gzip.compress(bytes(150_000_000)))
    with pytest.raises(RecordError, match="more than 1"), open_log(path):
        pass


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda content: content[:-10], "does not end"),
        (lambda content: content + b"x", "does not end"),
        (lambda content: content[:40] + b"xyz" + content[43:], "cannot be read"),
        (lambda content: b"not compressed", "cannot be read"),
        (lambda content: gzip.compress(bytes(10_001)), "more than 10,000 bytes"),
    ],
    ids=["cut", "longer", "changed", "other", "large"],
)
def test_a_damaged_compressed_log_is_refused(tmp_path, damage, reason):
    path = tmp_path / "events.jsonl"
    write(path, 20)
    compress_log(path, min_size=0)
    compressed_log(path).write_bytes(damage(compressed_log(path).read_bytes()))
    with pytest.raises(RecordError, match=reason), open_log(path, max_size=10_000) as file:
        file.read()
