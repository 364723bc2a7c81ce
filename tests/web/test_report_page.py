"""The report as one file with what happened in each trial, in real Chromium."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from playwright.sync_api import expect

from assay.cli import assay
from assay.core.errors import AssayError
from assay.web.pdf import print_page
from sample_run import Texts, write_run

SCRIPT = "<script>alert(1)</script><img src='http://127.0.0.1:9/x' onerror='alert(2)'>'\"><svg onload=alert(3)>"


@pytest.fixture(scope="module")
def page_of(tmp_path_factory):
    """Write the report of a run with its trials, and return its address."""

    def write(**options):
        folder = tmp_path_factory.mktemp("report")
        run = write_run(folder / "run", seeds=2, **options)
        words = ["report", str(run.path), "--html", str(folder / "page.html"), "--trials"]
        done = CliRunner().invoke(assay, words)
        assert done.exit_code == 0, done.output
        return (folder / "page.html").as_uri()

    return write


def test_one_file_shows_the_sum_the_conditions_and_every_trial(page_of, open_file):
    page = open_file(page_of(), viewport={"width": 390, "height": 800})
    expect(
        page.get_by_text(
            "research is better than starter on these 4 tasks; on tasks like these that is not known: it takes at "
            "least 6 tasks."
        )
    ).to_be_in_viewport()
    expect(page.get_by_role("heading", name="How it was run")).to_be_visible()
    conditions = page.get_by_role("heading", name="How it was run").locator("..")
    for text in (
        "main: openai/gpt-5",
        "10m, 30 steps",
        "1 core, 4GB, 0 GPUs",
        "2 attempts per task",
        "bubblewrap, sealed",
    ):
        expect(conditions).to_contain_text(text)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than a phone"
    page.locator("a[href='#t3-trial']").click()
    trial = page.locator("#t3-trial")
    trial.locator("summary").first.click()
    expect(trial.get_by_text("+model = HistGradientBoostingClassifier(max_iter=200)  # stronger")).to_be_visible()
    expect(trial.locator(".fig-tree")).to_be_visible()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))
    violations = Axe().run(page).response["violations"]
    assert not [(violation["id"], violation["nodes"][0]["html"][:200]) for violation in violations]


def test_texts_of_agents_stay_texts(page_of, open_file):
    texts = Texts(*[SCRIPT] * 6, label=SCRIPT, reason=SCRIPT, code=SCRIPT)
    page = open_file(page_of(tasks=("digits", "vectorization"), texts=texts))
    assert page.locator("script").count() == 0 and page.locator("img").count() == 0
    page.locator("#t2-trial summary").first.click()
    expect(page.locator("#t2-trial")).to_contain_text("<script>alert(1)</script>")


def test_a_page_is_printed_to_a_pdf(tmp_path):
    (tmp_path / "page.html").write_text("<!doctype html><title>A page</title><p>Text.")
    print_page(tmp_path / "page.html", tmp_path / "out" / "page.pdf")
    assert (tmp_path / "out" / "page.pdf").read_bytes().startswith(b"%PDF")


def test_a_pdf_without_a_browser_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssayError, match="apt-get install chromium"):
        print_page(tmp_path / "page.html", tmp_path / "page.pdf")
