"""What a person sees and does in real Chromium: every view works, without console errors or violations of WCAG."""

import re
from contextlib import ExitStack

import pytest
from axe_playwright_python.sync_playwright import Axe
from inspect_ai.log import read_eval_log
from playwright.sync_api import expect
from viewing import PATIENCE, serving

from assay.data.store import load_prepared
from assay.tasks import Registry
from sample_run import MEDAL_TASKS, TASKS, Texts, write_run, write_trial


@pytest.fixture
def open_page(chromium):
    """Open pages; at the end, fail if a console had an error or a page asked another host for something."""
    contexts, complaints = [], []

    def open_(viewer, path="", **options):
        context = chromium.new_context(**options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append("a script ran"), dialog.dismiss()))
        page.on("request", lambda request: complaints.append(request.url) if not is_own(request, viewer) else None)
        page.goto(viewer.address)
        if path:
            page.goto(page.url + path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not complaints


def is_own(request, viewer):
    return request.url.startswith(f"http://127.0.0.1:{viewer.port}/")


def check_accessibility(page, *rules):
    """Fail on what axe finds by the rules of WCAG 2 and its best practices, or by some of them."""
    options = {"runOnly": {"type": "rule", "values": rules}} if rules else None
    violations = Axe().run(page, options=options).response["violations"]
    nodes = [(violation["id"], [node["html"][:200] for node in violation["nodes"][:3]]) for violation in violations]
    assert not nodes, page.url


def test_a_newcomer_finds_out_who_is_better_where_and_why(viewer, open_page):
    page = open_page(viewer)
    assert "token" not in page.url
    verdict = page.get_by_role("region", name="Verdict on research and starter")
    expect(verdict).to_contain_text("research is better than starter on these 4 tasks; on tasks like these that is")
    expect(verdict).to_contain_text("+92 points: ")
    expect(verdict).to_contain_text(
        "Better on 4 tasks (largest: Handwritten digits from few labels, House prices in Ames)"
    )
    expect(verdict).to_contain_text("starter did not succeed in 12 of 12 trials: 12 valid but not clearly better")
    board = page.get_by_role("region", name="Leaderboard of pocket v1")
    expect(board.get_by_role("row").nth(1)).to_contain_text(
        re.compile(r"research.*92% ± 8.*42–100%.*\$0\.04", re.DOTALL)
    )
    check_accessibility(page)

    board.get_by_role("button", name="Success").click()
    board.get_by_role("button", name="Success").click()
    expect(board.get_by_role("row").nth(1)).to_contain_text("starter")
    page.get_by_label("Filter agents and tasks").fill("house")
    grid = page.get_by_role("region", name="Results by task and agent")
    expect(grid.locator("tbody tr:visible")).to_have_count(1)
    page.get_by_label("Filter agents and tasks").fill("")

    grid.get_by_role("link", name="Handwritten digits from few labels").click()
    expect(page.get_by_role("img", name="Scores on Handwritten digits")).to_be_visible()
    expect(page.get_by_text("Predict which digit")).to_be_visible()
    check_accessibility(page)

    page.get_by_role("link", name="Failures").click()
    expect(page.get_by_role("heading", name="crash")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("link", name="step 1, Execute Script").click()
    expect(page.locator(".entry.current")).to_contain_text("NameError: name 'model' is not defined")
    expect(page.locator(".entry.current")).to_be_in_viewport()


def test_a_trial_is_read_step_by_step_with_the_keyboard(viewer, open_page, run):
    trial = next(trial for trial in run.trials() if trial.file.agent == "research")
    page = open_page(viewer, f"/trial/{trial.path.name}")
    expect(page.get_by_role("heading", name="Step 2")).to_be_visible()
    titles = []
    for _ in range(4):
        page.keyboard.press("j")
        titles.append(page.locator(".entry.current .what").first.inner_text())
    assert titles == ["started", "lab opened: bubblewrap, sealed", "model call (main)", "write train.py (83 bytes)"]
    page.keyboard.press("k")
    expect(page.locator(".entry.current .what").first).to_have_text("model call (main)")
    asked = page.locator(".entry.current .block")
    expect(asked.nth(0)).to_contain_text(re.compile("instructions.*You are a machine learning engineer", re.DOTALL))
    expect(asked.nth(1)).to_contain_text(re.compile("^prompt.*The baseline is weak", re.DOTALL))
    page.keyboard.press("n")
    expect(page.locator(".entry.current .what").first).to_have_text("Execute Script: train.py")
    assert page.url.endswith("#" + page.locator(".entry.current").get_attribute("id"))
    added = page.locator(".added").first
    expect(added).to_have_text("+model = HistGradientBoostingClassifier(max_iter=200)  # stronger")
    expect(added.locator(".h-c1")).to_have_text("# stronger")
    expect(page.locator(".removed")).to_have_text("-model = LogisticRegression()")
    check_accessibility(page)

    page.locator(".fig-tree a").nth(2).click()
    node = page.locator(".entry.node.current")
    expect(node).to_contain_text(re.compile(r"2 improve\s*★ best 0\.97 graded 0\.46"))
    expect(page.get_by_role("navigation", name="Steps")).to_contain_text(re.compile(r"2 improve ★\s*0\.97"))

    page.get_by_role("link", name="prompt").last.click()
    expect(page.get_by_role("heading", name="Prompt of model call 2 of 2")).to_be_visible()
    expect(page.get_by_text("You are a machine learning engineer.")).to_be_visible()
    expect(page.locator(".message.tool")).to_contain_text("mean: 0.9695")
    check_accessibility(page)


def test_the_files_of_every_snapshot_are_shown(viewer, open_page, run):
    trial = next(trial for trial in run.trials() if trial.file.agent == "research")
    page = open_page(viewer, f"/trial/{trial.path.name}")
    changed = page.locator(".entry.files").last
    expect(changed).to_contain_text("files: 3 new, 1 changed, 1 removed")
    expect(changed.locator(".added").first).to_have_text("+finished")
    changed.get_by_role("link", name="files", exact=True).click()
    expect(page.get_by_role("heading", name="Files after step 2")).to_be_visible()
    check_accessibility(page)
    with page.expect_download() as started:
        page.get_by_role("link", name="Download model.bin").click()
    assert started.value.suggested_filename == "model.bin" and started.value.path().read_bytes() == b"\0\1\2"
    page.get_by_role("link", name="before").click()
    page.get_by_role("link", name="train.py", exact=True).click()
    expect(page.locator("pre.code .h-kn").first).to_have_text("import")
    check_accessibility(page)
    page.goto(f"{page.url.partition('/files')[0]}")
    with page.expect_download() as started:
        page.get_by_role("link", name="Download for Inspect").click()
    assert started.value.suggested_filename == f"{trial.path.name}.eval"
    sample = read_eval_log(str(started.value.path()), format="eval").samples[0]
    assert (sample.id, sample.epoch) == ("digits", trial.file.seed)


def test_a_leaderboard_is_limited_to_some_tasks_and_not_compared_with_others(tmp_path, open_page, monkeypatch):
    monkeypatch.setattr("assay.web.pages.MAX_MARKS", 0)  # marks are counted, as they are for many seeds
    run = write_run(tmp_path / "published", seeds=1, tasks=MEDAL_TASKS, suite="mlebench")
    with serving(run.path) as viewer:
        page = open_page(viewer)
        board = page.get_by_role("region", name="Leaderboard of mlebench v1")
        grid = page.get_by_role("region", name="Results by task and agent")
        expect(grid.locator("tbody tr")).to_have_count(2)
        expect(board.get_by_role("row")).to_have_count(3)
        expect(board.get_by_role("columnheader", name="Any medal")).to_be_visible()
        cell = grid.get_by_role("row").nth(1).get_by_role("cell").first
        expect(cell).to_have_attribute("title", re.compile(r"1 silver\npercentile 95\n"))
        expect(grid.get_by_role("link", name="research: all 1 trials").first).to_have_text("S1")
        page.get_by_label("Published results").check()
        expect(page.get_by_text(re.compile("rates are over whole splits, .*not over the 2 tasks here"))).to_be_visible()
        page.wait_for_load_state()  # the script that submits the form at a choice
        page.get_by_label("Split").select_option("low")
        expect(grid.locator("tbody tr")).to_have_count(1)
        expect(page.get_by_label("Published results")).to_be_checked()
        check_accessibility(page)
        page.wait_for_load_state()
        page.get_by_label("Split").select_option("")
        expect(grid.locator("tbody tr")).to_have_count(2)
        page.wait_for_load_state()
        page.get_by_label("Category").select_option("Tabular")
        expect(page.get_by_text("Published rates are over whole splits")).to_be_visible()
        grid.get_by_role("link", name="Predicting Molecular Properties").click()
        scores = page.get_by_role("img", name="Scores on Predicting Molecular Properties")
        expect(scores).to_contain_text("gold")
        expect(scores).to_contain_text("human teams")
        assert scores.locator(".fig-gray").count() > 5, "the distribution of human teams"
        expect(page.get_by_role("heading", name="Quirks and repairs")).to_be_visible()
        check_accessibility(page)
        page.close()


def test_agents_are_compared_task_by_task(viewer, open_page):
    page = open_page(viewer, "/compare")
    expect(page.get_by_role("row").filter(has_text="research").first).to_contain_text("92% (42–100%)")
    forest = page.get_by_role("img", name="Differences between research and starter by task")
    expect(forest).to_contain_text("+92")
    assert forest.locator("circle").count() == len(TASKS) + 1  # and their mean
    check_accessibility(page)
    page.get_by_role("listitem").filter(has_text="digits").get_by_role("link", name="seed 1").click()
    expect(page.get_by_role("heading", name="research, seed 1")).to_be_visible()
    expect(page.get_by_role("heading", name="starter, seed 1")).to_be_visible()
    steps = page.get_by_role("heading", name=re.compile("^Step"))
    assert steps.all_inner_texts() == ["STEP 1", "STEP 2", "STEP 3"]
    expect(page.locator("#b-e2")).to_contain_text("python starter.py")
    page.wait_for_load_state()
    page.keyboard.press("n")
    expect(page.locator(".entry.current")).to_contain_text("Execute Script")
    check_accessibility(page)
    page.go_back()
    page.get_by_label("Measure").select_option("wins")
    expect(page.get_by_text("wins by score on 4 tasks")).to_be_visible()

    page.get_by_role("link", name="Similar code").click()
    expect(page.get_by_role("img", name="Highest similarity of 12 trials")).to_contain_text("12")
    check_accessibility(page)
    page.get_by_role("region", name="Similar pairs").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="100% similar")).to_be_visible()
    expect(page.locator(".code-side .shared").first).to_contain_text("import pandas as pd")
    check_accessibility(page)


def test_curves_show_what_an_agent_had_and_what_it_picked(tmp_path, pocket_home, monkeypatch, open_page):
    """The agent has a perfect submission after its first step, and replaces it by the sample submission."""
    monkeypatch.setenv("ASSAY_HOME", str(pocket_home.root))
    data = load_prepared(pocket_home, Registry().task("pocket/digits"))
    perfect, poor = (data.private / "answers.csv").read_bytes(), (data.public / "sample_submission.csv").read_bytes()
    run = write_run(tmp_path / "run", seeds=2, tasks=("digits",), texts=Texts(submissions=(perfect, poor)))
    with serving(run.path) as viewer:
        page = open_page(viewer, "/curves?measure=score&axis=steps")
        row = page.get_by_role("region", name="Values at the end").get_by_role("row").filter(has_text="research")
        # It is graded in the background; the final grade in this record is 1.2 times the starter's.
        expect(row).to_contain_text(re.compile(r"0\.46\d+ ± 0\.0002\s+1\.000", re.DOTALL))
        figure = page.get_by_role("img", name="Curves of 2 agents over steps")
        expect(figure.locator("polyline").filter(has_text="own pick")).to_have_count(2)
        expect(figure.locator("polyline").filter(has_text="best so far")).to_have_count(2)
        expect(figure).to_contain_text("steps")
        figure.locator(".fig-probe").last.hover()
        expect(page.locator(".tip")).to_contain_text(
            re.compile(r"steps: .*starter: 0\.3\d+.*research: 0\.46\d+.*best so far 1", re.DOTALL)
        )
        check_accessibility(page)
        page.get_by_role("combobox", name="Over").select_option("time")
        expect(page.get_by_role("heading", name="Score over time")).to_be_visible()
        page.wait_for_load_state()  # with its script, which applies a choice
        page.get_by_label("Measure").select_option("success")
        expect(page.get_by_role("heading", name="Success over time")).to_be_visible()
        searched = next(trial for trial in run.trials() if trial.file.agent == "research")
        page.goto(page.url.partition("/curves")[0] + f"/trial/{searched.path.name}")
        expect(page.locator(".entry.node").nth(1)).to_contain_text(re.compile(r"1 debug\s*0\.91 graded 1"))
        page.goto(page.url.partition("/trial")[0] + "/task/pocket/digits")
        data = page.get_by_role("region", name="First rows of train.csv")
        expect(data.get_by_role("row").nth(1)).to_contain_text("train/0000.png")
        check_accessibility(page)
        page.close()


RECORD_SHIFTS = """() => {
  window.shifts = 0;
  const add = (list) => list.getEntries().forEach((entry) => { window.shifts += entry.value; });
  new PerformanceObserver(add).observe({ type: "layout-shift" });
}"""
ROWS = """() => [...document.querySelectorAll("tr")].filter((row) => !row.closest("#running"))
  .map((row) => Math.round(row.getBoundingClientRect().top))"""


def test_pages_follow_a_run_without_being_reloaded_and_tables_do_not_jump(tmp_path, open_page, monkeypatch):
    monkeypatch.setattr("assay.web.runs._QUICK", 0)  # agents are compared after the page is sent, as in large runs
    run = write_run(tmp_path / "running", seeds=2, tasks=("digits",), pending=True)
    trial = next(trial for trial in run.trials() if trial.state.status == "running")
    write_run(tmp_path / "earlier", seeds=1, tasks=("digits",))
    write_run(tmp_path / "others", seeds=1, tasks=MEDAL_TASKS, suite="mlebench")
    with ExitStack() as held, serving(tmp_path) as viewer:
        held.enter_context(trial.acquire())
        listed, page, together = open_page(viewer), open_page(viewer), open_page(viewer, "leaderboard")
        expect(together.get_by_role("region", name="Leaderboard 1 of mlebench v1")).to_be_visible()
        board = together.get_by_role("region", name="Leaderboard 2 of pocket v1")
        both = board.get_by_role("row").filter(has_text="research")
        words = r"100% 67–100% with missing trials.*2 of 2 1 pending.*earlier, running"
        expect(both).to_contain_text(re.compile(words, re.DOTALL))
        check_accessibility(together)
        row = listed.get_by_role("row").filter(has_text="running")
        expect(row).to_contain_text(re.compile(r"running.*3 of 4", re.DOTALL))
        page.get_by_role("link", name="running").click()
        expect(page.get_by_text("3 of 4 trials finished")).to_be_visible()
        expect(page.locator(".says")).to_contain_text("nor on tasks like these")
        detail = open_page(viewer)
        detail.goto(f"{page.url}/trial/{trial.path.name}")
        expect(detail.locator(".entry.running")).to_have_count(1)
        expect(page.get_by_role("region", name="Running trials")).to_contain_text("python train.py")
        for tab in (listed, page, detail):
            expect(tab.locator("#live")).to_have_text("Live")
        for tab in (listed, page, together, detail):
            tab.evaluate("window.notReloaded = true")
            tab.evaluate(RECORD_SHIFTS)
        rows = {tab: tab.evaluate(ROWS) for tab in (listed, page, together)}
        held.close()
        write_trial(trial, Texts(), strong=True)
        expect(page.get_by_text("4 of 4 trials finished")).to_be_visible()
        expect(page.locator(".says")).to_contain_text("nor on tasks like these (it takes at least 6 tasks).")
        expect(page.get_by_role("link", name="research, seed 2: success")).to_be_visible()
        expect(detail.get_by_text("submitted submission.csv, 13 bytes", exact=True)).to_be_visible()
        expect(detail.locator(".entry.running")).to_have_count(0)
        expect(row).to_contain_text("done")
        expect(both).to_contain_text("3 of 3")
        assert all(tab.evaluate("window.notReloaded") for tab in (listed, page, together, detail))
        moved = [abs(now - then) for tab in rows for now, then in zip(tab.evaluate(ROWS), rows[tab], strict=True)]
        assert max(moved) <= 2  # pixels: a line of text above may be rounded to another height
        assert all(
            tab.evaluate("window.shifts") < 0.1 for tab in (listed, page, together, detail)
        )  # "good" in Web Vitals
        listed.close()
        together.close()
        page.close()
        detail.close()


def test_words_are_searched_in_all_trials_and_runs_are_compared(tmp_path, open_page):
    for name in ("first", "second"):
        write_run(tmp_path / name, seeds=1, tasks=("digits", "vectorization"))
    with serving(tmp_path) as viewer:
        page = open_page(viewer)
        page.get_by_label("Filter runs").fill("second")
        expect(page.locator("tbody tr:visible")).to_have_count(1)
        assert page.url.endswith("?find=second")
        page.reload()
        expect(page.locator("tbody tr:visible")).to_have_count(1)
        page.get_by_label("Filter runs").fill("")
        for name in ("first", "second"):
            page.get_by_label(f"Select {name}").check()
        check_accessibility(page)
        page.get_by_role("button", name="Compare selected runs").click()
        expect(page.get_by_label("With run")).not_to_have_value("")
        page.get_by_role("link", name="Search").click()
        page.get_by_label("Words").fill("nameerror")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_text("2 trials with “nameerror”")).to_be_visible()
        check_accessibility(page)
        page.locator(".hits a").first.click()
        expect(page.locator(".entry.current")).to_contain_text("NameError: name 'model' is not defined")
        page.close()


def test_phones_and_dark_mode(viewer, open_page, run):
    trial = next(trial for trial in run.trials() if trial.file.agent == "research").path.name
    page = open_page(viewer, viewport={"width": 360, "height": 700}, color_scheme="dark")
    home = page.url
    for path in (
        "",
        "/compare",
        "/curves",
        "/failures",
        "/search?q=error",
        "/similar",
        "/task/pocket/digits",
        f"/trial/{trial}",
    ):
        page.goto(home + path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is wider than the screen"
        check_accessibility(page, "color-contrast", "scrollable-region-focusable")  # the rest is as on other screens
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_hostile_content_does_not_run(tmp_path, open_page):
    script = "<script>alert(1)</script><img src='http://127.0.0.1:9/x' onerror='alert(2)'>'\"><svg onload=alert(3)>"
    texts = Texts(*[script] * 5, path=f"{script}.py", label=script, reason=script, code=script + "A" * 200_000)
    run = write_run(tmp_path / "run", seeds=1, tasks=("digits", "vectorization"), texts=texts)
    trials = [f"/trial/{trial.path.name}" for trial in run.trials() if trial.file.agent == "research"]
    with serving(run.path) as viewer:
        page = open_page(viewer)
        home = page.url
        similar = "/similar/" + "/".join(trial.rpartition("/")[2] for trial in trials)
        for path in ("", "/compare", "/failures", similar, *trials):
            page.goto(home + path)
            expect(page.locator("main")).to_contain_text("<script>alert(1)</script>")
            assert page.locator("script").count() == 1 and page.locator("main img").count() == 0
        page.close()
