"""Everything an agent wrote is untrusted: nothing of it runs, and nothing breaks the pages."""

import json
import re
from contextlib import ExitStack
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from viewing import Client, serving

from assay.core.errors import RecordError
from assay.grading.result import Grade
from assay.lab.snapshots import take_snapshot
from assay.records import BudgetUsed, State, TrialFile, TrialFolder, read_events
from assay.records.content_store import ContentStore
from assay.records.events import (
    EVENT_ADAPTER,
    GAVE_UP,
    BudgetExhausted,
    CallFinished,
    CallStarted,
    Content,
    ExternalProcessRequest,
    ExternalProcessResult,
    HumanPeriodRequest,
    HumanPeriodResult,
    HumanRequest,
    HumanResult,
    Inapplicable,
    InfrastructureFailed,
    ModelRequest,
    ModelResult,
    NoteRequest,
    NoteResult,
    ReadRequest,
    ReadResult,
    Restarted,
    SnapshotTaken,
    ValidationRequest,
    ValidationResult,
    WriteRequest,
    WriteResult,
)
from assay.web.markup import PageBudget, render_text
from assay.web.text import clean_text
from assay.web.trace import Block, make_trace
from sample_run import Texts, write_run

SCRIPT = (
    "<script>alert('owned')</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)></pre></details></textarea>"
)
TEMPLATE = "{{ 7 * 7 }}{% raw %}${7*7}"
CONTROL = "\x00\x07\x08\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2J\x7f\r\nline\rover\u202egnp.exe\u2066\u200f\ufeff\ud800"
HOSTILE = f"{SCRIPT}{TEMPLATE}{CONTROL}javascript:alert(1)"
HUGE = "A" * 3_000_000 + SCRIPT
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ELEMENTS_THAT_LOAD_OR_RUN = {
    "iframe",
    "object",
    "embed",
    "style",
    "base",
    "frame",
    "applet",
    "math",
    "textarea",
}


class Page(HTMLParser):
    """Collects everything in a page that could run or load something."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.images, self.handlers, self.elements, self.links = [], [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.add(tag)
        if tag == "script":
            self.scripts.append(attributes)
        if tag == "img":
            self.images.append(attributes["src"])
        self.handlers += [name for name in attributes if name.startswith("on") or name in ("style", "srcdoc")]
        self.links += [attributes[name] or "" for name in ("href", "src", "action", "xlink:href") if name in attributes]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A client for a run in which every text is hostile; also the names of its folder and of its trials' agents."""
    texts = Texts(
        reply=HOSTILE,
        output=HUGE + CONTROL + "\udcff\udcfe",
        error=HOSTILE,
        name=HOSTILE.replace("\ud800", ""),
        argument=HOSTILE,
        path=SCRIPT + "\u202e.py",
        label=clean_text(SCRIPT) + "\x1b[31m\u202e",
        reason=HOSTILE.replace("\ud800", ""),
        code="x = 1\n\udcff\udc80" + HOSTILE.replace("\ud800", ""),
    )
    folder = tmp_path_factory.mktemp("runs") / "<img src=x onerror=alert(1)>"
    run = write_run(folder, seeds=1, tasks=("digits", "vectorization"), texts=texts)
    with serving(folder.parent) as viewer:
        yield Client(viewer), run


def test_nothing_that_an_agent_wrote_runs_on_any_page(hostile):
    client, _ = hostile
    read = read_all_pages(client, "/compare?baseline=%3Cscript%3E&measure=%22%3E&ignore=%3Cb%3E", "?suite=%3Cb%3E")
    for path, answer in read.items():
        check_page(path, answer)
    texts = "".join(answer.body for answer in read.values())
    assert "&lt;script&gt;alert(" in texts, "the text itself is shown"
    for kind in ("/prompt/", "/files/", "/compare", "/failures", "/task/"):
        assert any(kind in path for path in read), kind


def test_no_field_of_a_record_can_harm_a_page(tmp_path):
    """Every text of a record that may be anything is replaced; what must be a name or a number is left."""
    run = write_run(tmp_path / "run", seeds=1, tasks=("digits", "vectorization"))
    text = HOSTILE.replace("\ud800", "") + "B" * 100_000
    for trial in run.trials():
        for name, model in (("trial.json", TrialFile), ("state.json", State), ("grade.json", Grade)):
            path = trial.path / name
            if path.exists():
                content = replace_texts(json.loads(path.read_text()), text, model.model_validate_json)
                path.write_text(json.dumps(content))
        events = [event.model_dump(mode="json") for event in read_events(trial.events)]
        events += [event.model_dump(mode="json") for event in make_rare_events()]
        trial.events.unlink()
        with ExitStack() as stack:
            log = stack.enter_context(TrialFolder(trial.path, stack.enter_context(trial.acquire())).log())
            for event in events:
                log.append(EVENT_ADAPTER.validate_python(replace_texts(event, text, EVENT_ADAPTER.validate_json)))
    with serving(tmp_path) as viewer:
        for path, answer in read_all_pages(Client(viewer)).items():
            if "/files/" not in path:  # the names of snapshots were replaced as well
                check_page(path, answer)


def read_all_pages(client, *further):
    """Return everything that can be reached by links from the first page, but of whole texts and logs only a few."""
    home = re.search(r'href="(/run/[\w-]+)"', client.get("/").body)[1]
    read, waiting, left = {}, ["/", *(home + path for path in further)], {"/text/": 4, "/eval": 1}
    while waiting:
        path = waiting.pop()
        kind = next((kind for kind in left if kind in path), None)
        if path not in read and not path.startswith("/static") and (kind is None or left[kind] > 0):
            if kind:
                left[kind] -= 1
            read[path] = client.get(path)
            if read[path].headers["content-type"].startswith("text/html"):
                waiting += [link.partition("#")[0] for link in Page(read[path].body).links if link.startswith("/")]
    assert len(read) < 400, "a trap of links"
    return read


def check_page(path, answer):
    assert answer.status == 200, (path, answer.body[-3000:])
    if not answer.headers["content-type"].startswith("text/html"):
        attached = re.fullmatch(r'attachment; filename="[\w.-]+"', answer.headers.get("content-disposition", ""))
        assert attached or answer.headers["content-type"] == "text/plain; charset=utf-8", path
        return
    page = Page(answer.body)
    assert page.scripts == [{"src": "/static/view.js", "defer": None}], path
    assert set(page.images) == {"/static/icon.svg"} and not page.handlers, path
    assert not page.elements & ELEMENTS_THAT_LOAD_OR_RUN, path
    assert all(re.match(r"/(?!/)|#", link) for link in page.links), path
    assert not FORBIDDEN.search(answer.body.replace("\r", "")), path
    # JSON and Python spell control characters out.
    plain = re.sub("<[^>]*>", "", answer.body)
    assert not re.search(r"(?<!\\u001b)(?<!\\x1b)(?<!\ufffd)\[31m", plain) and "49${" not in plain, path
    assert len(answer.body) < 2_000_000, path


def replace_texts(content, text, validate):
    """Return a JSON value with each text replaced by `text` where `validate` accepts that."""

    def accepts(changed):
        try:
            validate(json.dumps(changed))
        except ValueError:
            return False
        return True

    def visit(node, change):
        if isinstance(node, dict):
            for key in list(node):
                change(node[key], lambda new, key=key: node.__setitem__(key, new))
        elif isinstance(node, list):
            for at in range(len(node)):
                change(node[at], lambda new, at=at: node.__setitem__(at, new))

    def try_text(value, put):
        if isinstance(value, str):
            put(text)
            if not accepts(content):
                put(value)
        else:
            visit(value, try_text)

    visit(content, try_text)
    return content


def make_rare_events():
    """Return the events that a sample trial does not have."""
    requests = [
        (HumanRequest(question="why?"), HumanResult(answer="because")),
        (HumanPeriodRequest(), HumanPeriodResult(reason="submit", screen="$ ls")),
        (
            ExternalProcessRequest(command=("agent", "--go")),
            ExternalProcessResult(ended="exit", code=1, stdout="out", stderr="error", seconds=1.0),
        ),
        (ModelRequest(role="main"), ModelResult(failure="rejected", message="no")),
        (WriteRequest(path="a", content=Content(sha256="0" * 64, size=1)), WriteResult(refused="no")),
        (ReadRequest(path="a"), ReadResult(refused="no")),
        (ValidationRequest(path="a.csv"), ValidationResult(problem="no column")),
        (NoteRequest(topic=GAVE_UP, cause="repeats", reason="again"), NoteResult()),
    ]
    for index, (request, result) in enumerate(requests):
        yield CallStarted(number=900 + 2 * index, step=4, request=request)
        yield CallFinished(call=900 + 2 * index, result=result, used=BudgetUsed())
    yield Restarted(reason="not the same")
    yield BudgetExhausted(limit="steps", reason="no step left")
    yield InfrastructureFailed(error_type="OSError", message="no space left")
    yield Inapplicable(reason="no table")


def test_whole_texts_are_plain_text_without_control_characters(hostile):
    client, run = hostile
    home = re.search(r'href="(/run/[\w-]+)"', client.get("/").body)[1]
    trial = client.get(f"{home}/trial/{[trial.path.name for trial in run.trials()][1]}")
    paths = sorted(set(re.findall(r'href="([^"]+/text/\d+/\d+)"', trial.body)))
    assert paths
    for path in paths:
        answer = client.get(path)
        assert answer.status == 200 and answer.headers["content-type"].startswith("text/plain"), path
        assert not FORBIDDEN.search(answer.body), path
    assert any(len(client.get(path).body) > 3_000_000 for path in paths), "nothing of a text is lost"


def test_a_damaged_record_is_an_explanation_and_not_a_crash(tmp_path):
    run = write_run(tmp_path / "run", seeds=1)
    first, second, third, *_ = run.trials()
    first.events.write_bytes(b'\xff\xfe{"kind": "<script>"}\n')
    (second.path / "state.json").unlink()
    (second.path / "state.json").symlink_to("/etc/passwd")
    with serving(tmp_path) as viewer:
        client = Client(viewer)
        home = re.search(r'href="(/run/[\w-]+)"', client.get("/").body)[1]
        answer = client.get(home)
        assert answer.status == 422 and "link" in answer.body and "root:" not in answer.body
        (second.path / "state.json").unlink()
        assert client.get(home).status == 200
        damaged = client.get(f"{home}/trial/{first.path.name}")
        assert damaged.status == 422 and "<script>&" not in damaged.body and "hash chain" in damaged.body
        assert client.get(f"{home}/trial/{third.path.name}").status == 200


def test_terminal_sequences_are_removed_and_progress_bars_keep_their_last_state():
    assert clean_text("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07") == "red link"
    assert clean_text("10%\r 50%\r100%\nnext\r\n") == "100%\nnext\n"
    assert clean_text("a\u202eb\x00c") == "a\ufffdb\ufffdc"


def test_contents_and_manifests_larger_than_the_record_says_are_not_read(tmp_path, monkeypatch):
    """A page decides by the sizes in a record what it reads, and the record may lie."""
    store = tmp_path / "snapshots"
    work = tmp_path / "work"
    work.mkdir()
    taken = []
    for number in range(3):
        (work / "script.py").write_text(f"print({number})\n" * 9)
        taken.append(take_snapshot(work, store, max_size=10**6))
    events = [
        SnapshotTaken(snapshot=snapshot.id, step=number).model_copy(
            update={"number": number, "time": datetime.now(UTC)}
        )
        for number, snapshot in enumerate(taken)
    ]
    trace = make_trace(events, ContentStore(store), store)
    assert [entry.title for entry in trace.entries][1:] == ["files: 1 changed"] * 2
    (file,) = taken[1].files.values()
    (store / "objects" / file.sha256).write_bytes(b"x" * 10**6)
    with pytest.raises(RecordError, match="at most"):
        ContentStore(store).get_by_digest(file.sha256, file.size)
    monkeypatch.setattr("assay.web.trace._MAX_MANIFESTS", 500)
    trace = make_trace(events, ContentStore(store), store)
    assert [entry.title for entry in trace.entries][1:] == ["workspace not shown"] * 2
    large = Content(sha256="0" * 64, size=10**9)
    write = CallStarted(step=1, request=WriteRequest(path="a", content=large))
    write = write.model_copy(update={"number": 7, "time": datetime.now(UTC)})
    (entry,) = make_trace([write], ContentStore(store), store).entries
    assert "too long to show" in entry.blocks[0].text


@pytest.mark.parametrize(
    "text",
    [
        "> " * 25 + "concealed",
        "- " * 25 + "concealed",
        "".join("  " * level + "- a\n" for level in range(30)) + "  " * 30 + "- concealed",
        "| a |\n|---|\n| b | concealed |",
        "```py concealed\nx\n```",
        "```" + "un" * 10 + "concealed\nx\n```",
    ],
    ids=["quotes", "lists", "indented lists", "cells", "words after a language", "a long language"],
)
def test_markdown_conceals_nothing_that_an_agent_wrote(text):
    assert "concealed" in render_text(text, "prose")


def test_ordinary_markdown_is_rendered():
    text = "# A\n\n1. **fit** `it`\n2. see\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> so\n\n```python\nprint('\\nx')\n```"
    rendered = render_text(text, "prose")
    assert all(tag in rendered for tag in ("<strong>", "<ol>", "<table>", "<blockquote>", "h-nb"))


def test_blank_lines_and_empty_cells_do_not_stall_a_page():
    """Lexers take quadratic time for blank lines, and a table fills the rows of its head: what costs much is plain."""
    assert "<span" not in render_text("import os\n" + "\n " * 5000, "code", "x.py")
    budget = PageBudget(40_000)
    table = Block("reply", "|" + "a|" * 10 + "\n|" + "-|" * 10 + "\n" + "|\n" * 2000, "prose")
    rendered = [budget.render(table) for _ in range(4)]
    assert "<td" in rendered[0] and "<td" not in rendered[-1]
    assert len(rendered[-1]) < 2000
