"""Everything an agent wrote is untrusted: nothing of it runs, and nothing breaks the pages."""

import re
from html.parser import HTMLParser

import pytest
from sample_run import Texts, write_run
from viewing import Client, serving

from assay.web.text import clean_text

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
    "form",
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
    client, run = hostile
    index = client.get("/")
    (home,) = set(re.findall(r'href="(/run/[\w-]+)"', index.body))
    pages = [home, f"{home}/compare", f"{home}/failures", f"{home}/task/pocket/digits"]
    pages += [f"{home}/compare?baseline=%3Cscript%3E&measure=%22%3E&ignore=%3Cb%3E"]
    trials = [f"{home}/trial/{trial.path.name}" for trial in run.trials()]
    read = {path: client.get(path) for path in ["/", *pages, *trials]}
    prompts = {path for answer in read.values() for path in re.findall(r'href="([^"]+/prompt/\d+)"', answer.body)}
    assert prompts
    read |= {path: client.get(path) for path in prompts}
    for path, answer in read.items():
        assert answer.status == 200, path
        page = Page(answer.body)
        assert page.scripts == [{"src": "/static/view.js", "defer": None}], path
        assert set(page.images) == {"/static/icon.svg"} and not page.handlers, path
        allowed = {"form"} if "/compare" in path else set()
        assert not page.elements & ELEMENTS_THAT_LOAD_OR_RUN - allowed, path
        assert all(re.match(r"/(?!/)|#", link) for link in page.links), path
        assert not FORBIDDEN.search(answer.body.replace("\r", "")), path
        assert not re.search(r"(?<!\\u001b)(?<!\ufffd)\[31m", answer.body) and "49${" not in answer.body, (
            path
        )  # JSON spells it out
        assert len(answer.body) < 2_000_000, path
    shown = "".join(answer.body for answer in read.values())
    assert "&lt;script&gt;alert(" in shown, "the text itself is shown"


def test_whole_texts_are_plain_text_without_control_characters(hostile):
    client, run = hostile
    home = re.search(r'href="(/run/[\w-]+)"', client.get("/").body)[1]
    trial = client.get(f"{home}/trial/{[one.path.name for one in run.trials()][1]}")
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
    assert clean_text("10 %\r 50 %\r100 %\nnext\r\n") == "100 %\nnext\n"
    assert clean_text("a\u202eb\x00c") == "a\ufffdb\ufffdc"
