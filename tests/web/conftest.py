"""A finished run and a viewer on it, and a browser."""

import shutil

import pytest
from playwright.sync_api import expect, sync_playwright
from viewing import PATIENCE, Client, serving

from sample_run import write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run."""
    return write_run(tmp_path_factory.mktemp("runs") / "demo")


@pytest.fixture(scope="module")
def viewer(run):
    """A viewer on that run."""
    with serving(run.path) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def client(viewer):
    return Client(viewer)


@pytest.fixture(scope="module")
def chromium():
    """The system's browser."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "this test needs Chromium: apt-get install chromium"
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=program, args=arguments, timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def open_file(chromium):
    """Open files; at the end, fail if a console had an error, a script ran, or a page asked a host for something."""
    contexts, complaints = [], []

    def open_(address, **options):
        context = chromium.new_context(**options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append("a script ran"), dialog.dismiss()))
        page.on(
            "request", lambda request: complaints.append(request.url) if not request.url.startswith("file:") else None
        )
        page.goto(address)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not complaints
