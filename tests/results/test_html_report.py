"""The report page is parsed as markup and opened in a real browser."""

import re
import shutil
import subprocess
import threading
from collections import Counter
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, HTTPServer
from xml.etree import ElementTree

import pytest
from synthetic_outcomes import MADE_AT, TASKS, changed, failed, grade, outcome, panels, run

from assay.core.figure import COLORS
from assay.results import figures
from assay.results.estimate import summarize_agents, summarize_tasks
from assay.web.report import render_page, write_figures

HOSTILE = (
    "<script>alert(1)</script>",
    "</svg><img src=x onerror=alert(1)>",
    "</style></title><b>bold</b>",
    "\" onload=\"alert(1)' x='",
    "{{ 7 * 7 }} {% raw %}",
    "nul\x00 bell\x07 escape\x1b[31m \u202eright to left",
)


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words = Counter(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def few_tasks():
    """Trials of two tasks: every task is a figure, and drawing takes most of the time of a report."""
    return [row for row in run() if row.task in ("pocket/digits", "pocket/house-price")]


@pytest.fixture(scope="module")
def text():
    return render_page(run(), panels(), "Pocket run", MADE_AT)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_the_report_shows_all_figures(page):
    for words in (
        "Pocket run",
        "26 October 2026, 14:03 UTC",
        "pocket v1",
        "4 × 2 × 3",
        "Handwritten digits",
        "on tasks like these",
    ):
        assert words in page.text
    assert "not applicable" in page.text and "3 of 9 33% (" in page.text and "1–89%" in page.text
    # Seven figures, and the interval of each of two agents.
    assert page.tags["svg"] == 7 + 2 and page.tags["table"] == 6


def test_the_sum_over_tasks_comes_first_and_equal_reasons_are_one_row():
    trials = [*run(seeds=1), *(failed(task, "automl", 7 + seed) for task in TASKS for seed in range(5))]
    page = Page(render_page(trials, panels(), "x", MADE_AT))
    positions = [
        page.text.rindex(heading) for heading in ("All tasks", "Results by task", "Right is better", "All trials")
    ]
    assert positions == sorted(positions)
    section = page.text[page.text.rindex("Failed by") : page.text.rindex("Results by task")]
    assert section.count("python train.py ended with exit code 1") == 1 and "agent 20 automl 20" in section
    targets = {value for _, name, value in page.attributes if name == "href"}
    assert {"#part0", "#part0-failures", "#part0-tasks", "#part0-scores", "#trials"} <= targets
    assert targets <= {f"#{value}" for _, name, value in page.attributes if name == "id"}


def test_scores_are_drawn_with_the_medals_they_would_win():
    levels = {"gold_threshold": 0.98, "silver_threshold": 0.97, "bronze_threshold": 0.965, "median_threshold": 0.8}
    scored = outcome(grade=grade("pocket/digits", 0.9, **levels))
    words = "".join(ElementTree.fromstring(figures.draw_scores([scored], None, {"starter": 0}).to_svg()).itertext())
    for level in ("gold 0.9800", "silver 0.9700", "bronze 0.9650", "median 0.8000", "starter 0.9167"):
        assert level in words


def test_a_task_without_scores_has_no_figure(tmp_path):
    trials = [*(row for row in run(seeds=1) if row.task == "pocket/digits"), failed("pocket/house-price", "starter", 0)]
    names = {path.name for path in write_figures(trials, panels(), tmp_path)}
    assert "pocket-v1-scores-digits.svg" in names and "pocket-v1-scores-house-price.svg" not in names


def test_attempts_are_drawn_up_to_half_of_them(tmp_path):
    few, many = (
        figures.draw_attempts(summarize_agents(run(seeds=seeds)), {"starter": 0, "automl": 1}) for seeds in (3, 4)
    )
    assert few is None and "attempts k" in "".join(ElementTree.fromstring(many.to_svg()).itertext())
    written = write_figures(run(seeds=4), panels(), tmp_path / "figures")
    assert {path.name for path in written} >= {"pocket-v1-attempts.svg", "pocket-v1-scores-digits.png"}
    for path in written:
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG") if path.suffix == ".png" else ElementTree.fromstring(content) is not None


def test_the_report_is_self_contained_and_has_no_scripts(page, text):
    assert not {"script", "link", "img", "iframe", "object", "embed", "image", "use", "base", "form"} & set(page.tags)
    for tag, name, value in page.attributes:
        assert name not in ("src", "srcset", "action", "data", "xlink:href") and not name.startswith("on"), (tag, name)
        assert name != "href" or value.startswith("#")
    assert "http:" not in text and "https:" not in text and "@import" not in text
    assert not re.search(r"url\((?!#)", text)


def test_the_same_outcomes_give_the_same_report():
    few = run(seeds=1)[:2]
    assert render_page(few, panels(), "x", MADE_AT) == render_page(few, panels(), "x", MADE_AT)


def test_text_of_an_agent_never_becomes_markup(page):
    trials = few_tasks()
    for number, words in enumerate(HOSTILE):
        trials.append(failed("pocket/digits", words, number, why=words))
        trials.append(outcome("pocket/house-price", words, number, 0.15))
        trials.append(
            outcome("pocket/house-price", "x", number, 0.15, grade=grade("pocket/house-price", None, why=words))
        )
    trials = changed(trials, lambda o: o.task == "pocket/house-price", title=HOSTILE[1], metric=HOSTILE[0])
    text = render_page(trials, panels(), HOSTILE[2], MADE_AT)
    hostile = Page(text)
    assert set(hostile.tags) <= set(page.tags) | {"ul", "li", "br", "tspan"}
    assert not [name for _, name, _ in hostile.attributes if name.startswith("on")]
    assert HOSTILE[0] in hostile.text and "{{ 7 * 7 }}" in hostile.text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", text)


def test_ids_are_unique_on_the_page(page):
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_the_headline_names_failed_unsealed_and_unfinished_trials():
    trials = changed(few_tasks(), lambda o: o.seed == 0, sealed=False)
    trials += [
        failed("pocket/digits", "automl", 3, "infrastructure", "the lab was lost"),
        outcome(seed=9, status="running", grade=None),
    ]
    head = Page(render_page(trials, panels(), "x", MADE_AT)).text.split("How to read")[0]
    assert "Sealed partly" in head and "4 trials of 14" in head
    assert "1 infrastructure" in head and "Pending 1" in head and "Not final" in head


def test_editions_are_reported_separately():
    both = [*few_tasks(), *changed(few_tasks(), lambda o: True, edition="fixed")]
    text = Page(render_page(both, panels(), "x", MADE_AT)).text
    assert "All tasks: pocket v1" in text and "All tasks: pocket fixed" in text
    assert text.count("3 of 6 50% (") == 2 and "6 of 12" not in text


@pytest.mark.parametrize(
    "trials", [[], run(seeds=1)[:1], [outcome(status="waiting", grade=None)]], ids=["none", "one", "waiting"]
)
def test_a_report_of_few_trials(trials):
    assert "Little" in Page(render_page(trials, {}, "Little", MADE_AT)).text


def test_figures_are_well_formed_and_show_panel_baseline_and_agents():
    trials, palette = run(), figures.number_colors(row.agent for row in run())
    digits = [row for row in trials if row.task == "pocket/digits"]
    drawn = figures.draw_scores(digits, panels()["pocket/digits"], palette)
    words = "".join(ElementTree.fromstring(drawn.to_svg()).itertext())
    assert "panel of 13" in words and "starter 0.9167" in words and "automl" in words and "higher is better" in words
    ticks = [mark for mark in drawn.marks if mark.look.get("style") == "gray"]
    assert len(ticks) == 12  # the thirteenth solution is an outlier, counted at the edge
    assert "◂ 1" in words
    for figure in (
        figures.draw_improvements(summarize_tasks(trials), palette),
        figures.draw_success(summarize_agents(trials), palette),
    ):
        assert figure is not None and ElementTree.fromstring(figure.to_svg()).tag.endswith("svg")


def test_a_panel_of_another_edition_or_variant_is_not_shown():
    digits = [row for row in run() if row.task == "pocket/digits"]
    palette = figures.number_colors(row.agent for row in digits)
    for fields in ({"edition": "fixed"}, {"variant": "synthetic-1"}):
        other = changed(digits, lambda o: True, **fields)
        assert "panel of" not in figures.draw_scores(other, panels()["pocket/digits"], palette).to_svg()


def test_improvements_of_a_tenth_and_of_fifty_times_are_both_visible():
    axis = figures.improvement_axis([0.1, 50.0])
    assert axis.scale == "symlog" and axis.share(0.1) - axis.share(0) > 0.05 and axis.share(50) < 1
    assert figures.improvement_axis([0.02, 0.3]).scale == "linear"
    assert 0 < figures.improvement_axis([0.0]).share(0) < 1


def test_agents_have_colors_of_their_own_as_long_as_there_are_enough():
    palette = figures.number_colors(row.agent for row in run(agents=[str(n) for n in range(9)], seeds=1))
    assert list(palette.values()) == [*range(COLORS), 0]


def test_a_browser_shows_the_report_without_errors_and_sends_no_requests(tmp_path):
    with listening() as (address, asked):
        lure = f'<img src="{address}/a"><script src="{address}/b"></script><style>@import "{address}/c";</style>'
        trials = [*run(), failed("pocket/digits", lure, 0, why=lure), outcome("pocket/house-price", lure, 0, 0.15)]
        report = tmp_path / "report.html"
        report.write_text(render_page(trials, panels(), "Pocket run", MADE_AT))
        dom, complaints = browse(report, tmp_path / "profile")
        assert "Pocket run" in dom and dom.count("<svg") == 7 + 3 and "</html>" in dom
        assert complaints == [] and asked == []

        bait = tmp_path / "bait.html"
        bait.write_text(f"<body>{lure}<script>console.error('heard')</script>")
        _, complaints = browse(bait, tmp_path / "profile")
        assert any("heard" in line for line in complaints) and asked, "the check itself must notice errors and requests"


def browse(path, profile):
    """Return the page as Chromium parsed it, and the messages on its console."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert browser, "this test needs Chromium: apt-get install chromium"
    background = ("background-networking", "component-update", "sync", "gpu", "quic")
    call = [browser, "--headless", "--no-sandbox", "--no-first-run", *(f"--disable-{part}" for part in background)]
    call += ["--enable-logging=stderr", f"--user-data-dir={profile}", "--dump-dom", path.as_uri()]
    done = subprocess.run(call, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


class listening:  # noqa: N801 - used as a function
    """A local web server that records the requests it gets."""

    def __enter__(self):
        asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_error(404)

            def log_message(self, *words):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}", asked

    def __exit__(self, *error):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
