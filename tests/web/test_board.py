"""A board: bundles are verified before they are added, and its site works in real Chromium without a server's help."""

import hashlib
import json
import re
import shutil
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from assay.board.folder import BoardEntry, BoardFolder, RunInfo
from assay.core.disk import write_json
from assay.core.errors import RecordError, UsageError
from assay.results.export import export_run
from assay.tasks import Registry
from assay.web.board import build_site
from sample_run import Texts, write_run

SCRIPT = "<script>alert(1)</script><img src='http://127.0.0.1:9/x' onerror='alert(2)'>'\"><svg onload=alert(3)>"


def rewrite(source, target, change):
    """Copy a bundle with other contents; the index has the hashes of what is in it, as a forger would write them."""
    with zipfile.ZipFile(source) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name != "index.json"}
        index = json.loads(archive.read("index.json"))
    change(files)
    index["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("index.json", json.dumps(index))
        for name, content in files.items():
            archive.writestr(name, content)


@pytest.mark.slow
def test_only_what_holds_is_added(tiny, tmp_path):
    assert tiny.call(*tiny.run_words("Steps", "starter", seeds=1)).returncode == 0
    good, bare, board = tmp_path / "good.zip", tmp_path / "bare.zip", tmp_path / "board"
    tiny.call("export", str(tiny.out), "--out", str(good), "--submissions")
    tiny.call("export", str(tiny.out), "--out", str(bare))

    def better_grade(files):
        for name in files:
            if name.endswith("grade.json"):
                files[name] = re.sub(rb'"score": [^,]+', b'"score": 1.0', files[name])

    def changed_log(files):
        name = next(name for name in files if name.endswith("events.jsonl"))
        files[name] = files[name].replace(b'"step":1', b'"step":2', 1)

    def other_submission(files):
        name = next(name for name in files if name.endswith("submission.csv"))
        files[name] += b"9,9\n"

    for number, (change, complaint) in enumerate(
        [(better_grade, "the grade was changed"), (changed_log, "events.jsonl"), (other_submission, "was changed")]
    ):
        forged = tmp_path / f"forged{number}.zip"
        rewrite(good, forged, change)
        done = tiny.call("board", "add", str(forged), "--to", str(board))
        assert done.returncode == 1 and complaint in done.stdout, done.stdout + done.stderr
        assert "does not hold what it claims" in done.stderr
    with zipfile.ZipFile(good) as archive, zipfile.ZipFile(tmp_path / "more.zip", "w") as more:
        for name in archive.namelist():
            more.writestr(name, archive.read(name))
        more.writestr("trials/extra.html", "<script>alert(1)</script>")
    done = tiny.call("board", "add", str(tmp_path / "more.zip"), "--to", str(board))
    assert done.returncode == 2 and "trials/extra.html" in done.stderr

    done = tiny.call("board", "add", str(bare), "--to", str(board))
    assert done.returncode == 1 and "scores cannot be verified here" in done.stderr
    assert not list((board / "entries").iterdir()) and len(list(board.iterdir())) == 1
    marked = tiny.call("board", "add", str(bare), "--to", str(tmp_path / "marked"), "--allow-unverified", "--json")
    assert json.loads(marked.stdout)["regraded"] == 0

    done = tiny.call("board", "add", str(good), "--to", str(board), "--by", "Example Lab")
    assert done.returncode == 0 and "Added 2 trials, 2 regraded" in done.stdout, done.stderr
    again = tiny.call("board", "add", str(good), "--to", str(board))
    assert again.returncode == 2 and "on the board already" in again.stderr
    done = tiny.call("board", "build", str(board), "--out", str(tmp_path / "site"))
    assert done.returncode == 0 and (tmp_path / "site" / "index.html").is_file(), done.stderr


def add_unchecked(board, run, work, **info):
    """Add a run to a board without verification: the runs of these tests were never really made."""
    bundle = work / f"{run.name}.zip"
    digest, trials = export_run(run, bundle), len(run.file.trials)
    entry = BoardEntry(
        digest=digest,
        added_at="2026-11-16T12:00:00+00:00",
        info=RunInfo(**info),
        grade="consistent",
        signed_by=None,
        established=(),
        not_established=("That the logs were written by the harness.",),
        trials=trials,
        regraded=trials,
        removed=0,
        fingerprints=(),
    )
    entry_folder = board / "entries" / entry.name
    entry_folder.mkdir(parents=True)
    bundle.rename(entry_folder / "bundle.zip")
    write_json(entry_folder / "entry.json", entry.model_dump(mode="json"))
    return entry


@pytest.fixture
def serve():
    """Serve a folder as a static host does, below a path of its own."""
    servers = []

    def serve_(folder):
        class Quiet(SimpleHTTPRequestHandler):
            def log_message(self, *words):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder.parent)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/{folder.name}/index.html"

    yield serve_
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def open_site(chromium):
    """Open pages; at the end, fail if a console had an error, a script ran, or a page asked another host."""
    contexts, complaints = [], []

    def open_(address, **options):
        host = address[: address.index("/", 8)]
        context = chromium.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (complaints.append("a script ran"), dialog.dismiss()))
        page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith(host) else None)
        page.goto(address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not complaints


def check_accessibility(page):
    violations = Axe().run(page).response["violations"]
    assert not [(violation["id"], violation["nodes"][0]["html"][:200]) for violation in violations], page.url


def test_a_reader_gets_from_the_ranking_to_every_trace(tmp_path, serve, open_site):
    board = tmp_path / "board"
    add_unchecked(board, write_run(tmp_path / "one", seeds=1), tmp_path, by="Example Lab", knowledge_cutoff="2026-01")
    add_unchecked(board, write_run(tmp_path / "two", seeds=2), tmp_path, by="Other Lab")
    low = Registry().names("mlebench:low")
    add_unchecked(board, write_run(tmp_path / "low", seeds=1, tasks=low, suite="mlebench"), tmp_path)
    build_site(BoardFolder(board), tmp_path / "site", Registry(), title="Test board")

    page = open_site(serve(tmp_path / "site"), viewport={"width": 1200, "height": 900})
    pocket = page.locator("section", has=page.get_by_role("heading", name="pocket v1"))
    rows = pocket.locator("table.sortable tbody tr")
    assert rows.count() == 4
    # Four tasks leave all ranks open, whoever is ahead.
    expect(pocket.locator("table:not(.sortable)")).to_contain_text(re.compile(r"possible ranks.*1–4", re.DOTALL))
    # By hand: rates 1, 1, 1, ½ by task, whose standard deviation is ¼, over √4; and 1, 1, 1, 0.
    expect(rows.first).to_contain_text(re.compile(r"research.*88% ± 12.*Other Lab.*consistent", re.DOTALL))
    expect(rows.nth(1)).to_contain_text(re.compile(r"75% ± 25.*Example Lab", re.DOTALL))
    expect(pocket).to_contain_text("Compared with the first, paired by task")
    expect(pocket).to_contain_text("(it takes at least 8 tasks). 88% against 75% success, +12 points")
    low_group = page.locator("section", has=page.get_by_role("heading", name="mlebench v1"))
    expect(low_group.locator("h2")).to_contain_text("low (22 tasks)")
    published = low_group.locator("tr.published")
    assert published.count() > 5 and set(published.locator("em").all_inner_texts()) == {"not verified"}
    check_accessibility(page)

    rows.nth(1).get_by_role("link", name="research").click()
    card = page.locator(".card").last
    for text in (
        "Example Lab",
        "2026-01",
        "every trial of the run counts",
        "Signed",
        "regraded",
        "consistent",
        "by the harness",
    ):
        expect(card).to_contain_text(text)
    for text in ("main: openai/gpt-5", "Internet", "no score; only whether the format", "1 attempt per task"):
        expect(page.locator(".disclosure").last).to_contain_text(text)
    check_accessibility(page)
    page.get_by_role("link", name="Handwritten digits from few labels").last.click()
    expect(page.get_by_text("+model = HistGradientBoostingClassifier(max_iter=200)  # stronger")).to_be_visible()
    page.wait_for_load_state()  # keys are answered from then on
    page.keyboard.press("n")
    expect(page.locator(".entry.current .what").first).to_have_text("Execute Script: train.py")
    check_accessibility(page)
    page.get_by_role("link", name="prompt").last.click()
    call = page.locator("section").last
    expect(call).to_contain_text("The first 2 messages of event 2, then:")
    expect(call.locator(".message.tool")).to_contain_text("mean: 0.9695")
    expect(page.get_by_text("You are a machine learning engineer.")).to_have_count(1)
    check_accessibility(page)
    page.set_viewport_size({"width": 360, "height": 700})
    for _ in range(4):
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{page.url} is too wide"
        page.go_back()


def test_texts_of_strangers_do_not_run(tmp_path, serve, open_site):
    board = tmp_path / "board"
    texts = Texts(*[SCRIPT] * 6, label=SCRIPT, reason=SCRIPT, code=SCRIPT + "A" * 50_000)
    run = write_run(tmp_path / "run", seeds=1, tasks=("digits", "vectorization"), texts=texts)
    entry = add_unchecked(board, run, tmp_path, by=SCRIPT, selection=SCRIPT, link="javascript:alert(1)")
    build_site(BoardFolder(board), tmp_path / "site", Registry(), title=SCRIPT)
    address = serve(tmp_path / "site")
    page = open_site(address)
    pages = sorted(path.relative_to(tmp_path / "site") for path in (tmp_path / "site").rglob("*.html"))
    assert len(pages) == 8 and entry.name in str(pages[0])
    for path in pages:
        page.goto(address.replace("index.html", path.as_posix()))
        assert page.locator("script").count() == 1 and page.locator("main img").count() == 0
        assert not page.evaluate("[...document.links].some((link) => link.href.startsWith('javascript:'))")
        text = (tmp_path / "site" / path).read_text()
        assert "default-src &#39;none&#39;; script-src &#39;self&#39;" in text and "unsafe" not in text


def test_a_bundle_that_was_changed_after_it_was_verified_is_not_shown(tmp_path):
    board, out = tmp_path / "board", tmp_path / "site"
    entry = add_unchecked(board, write_run(tmp_path / "one", seeds=1, tasks=("digits",)), tmp_path)
    add_unchecked(board, write_run(tmp_path / "two", seeds=2, tasks=("digits",)), tmp_path)
    bundle = BoardFolder(board).bundle
    shutil.copyfile(bundle(BoardFolder(board).entries()[-1]), bundle(BoardFolder(board).entries()[0]))
    with pytest.raises(RecordError, match="not the run that was verified"):
        build_site(BoardFolder(board), out, Registry(), title="x")
    assert not out.exists() and entry.name
    out.mkdir()
    (out / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="not the site of a board"):
        build_site(BoardFolder(board), out, Registry(), title="x")
    assert (out / "index.html").read_text() == "mine"
