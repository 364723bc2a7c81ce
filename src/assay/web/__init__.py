"""The viewer: pages about runs, served on this machine only, live while a run is in progress.

Start reading at `app.py` (which page is at which address), then `guard.py` (who may see them). `runs.py` reads run
folders and keeps what it computed; `trace.py` turns the log of a trial into what its page shows. Everything in a record
is untrusted: templates escape it, `text.py` removes control characters, and no page has inline scripts.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.web.board import build_site as build_site
    from assay.web.report import render_page as render_page
    from assay.web.server import Viewer as Viewer

__all__, __getattr__ = export_lazily(__name__, __file__)
