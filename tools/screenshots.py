"""Renew the pictures in docs/ from a finished run: `python tools/screenshots.py runs/demo`, after `make demo`."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

DOCS = Path(__file__).parent.parent / "docs"
WIDTH = 1440
PATIENCE = 300_000
"""Milliseconds that a busy machine may take for a page."""
MAX_COLORS = 128
"""Colors of a picture: enough for text and flat areas, at a third of the size."""


def main() -> None:
    """Take all pictures."""
    run = Path(sys.argv[1])
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is missing; run: apt-get install chromium")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=program, args=options, timeout=PATIENCE)
        report = Path(folder) / "report.html"
        subprocess.run([sys.executable, "-m", "assay", "report", str(run), "--html", str(report)], check=True)
        take(browser, report.as_uri(), "demo.png", height=1060)
        command = [sys.executable, "-m", "assay", "view", str(run)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as viewer:
            try:
                assert viewer.stdout is not None
                take_pages(browser, viewer.stdout.readline().strip())
            finally:
                viewer.terminate()
        browser.close()


def take_pages(browser: Browser, address: str) -> None:
    """Take the pages of the viewer: the run, the curves of a task once all steps are graded, and a trial."""
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(address)  # the address contains a token, for which the browser gets a cookie
    run, host = page.url, page.url.partition("/run/")[0]
    task = page.locator(".grid tbody a").first.get_attribute("href")
    trial = page.locator(".marks a.success").first.get_attribute("href")
    assert task and trial
    take(browser, address, "view.png", height=1000)
    curves = f"{run}/curves?measure=score&task={task.partition('/task/')[2]}"
    page.goto(curves)
    page.locator("#curves progress").wait_for(state="detached", timeout=2 * PATIENCE)
    context.close()
    take(browser, address, "view-curves.png", then=curves, height=800)
    take(browser, address, "view-trial.png", then=host + trial, height=860)


def take(browser: Browser, address: str, name: str, *, height: int, then: str = "") -> None:
    """Save a page as a picture; `then` is opened after the first address."""
    context = browser.new_context(viewport={"width": WIDTH, "height": height}, color_scheme="light")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(address)
    if then:
        page.goto(then)
    page.screenshot(path=DOCS / name)
    context.close()
    shrink(DOCS / name)


def shrink(path: Path) -> None:
    """Reduce the colors of a picture."""
    from PIL import Image

    with Image.open(path) as picture:
        picture.convert("RGB").quantize(MAX_COLORS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
            path, optimize=True
        )


if __name__ == "__main__":
    main()
