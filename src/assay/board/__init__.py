"""The board: a folder of verified runs, with a history of what was added, rescored and withdrawn.

Start reading at `folder.py`; `web/board.py` makes the page.
"""

from typing import TYPE_CHECKING

from assay.core.lazy_import import export_lazily

if TYPE_CHECKING:
    from assay.board.folder import BoardEntry as BoardEntry
    from assay.board.folder import BoardFolder as BoardFolder

__all__, __getattr__ = export_lazily(__name__, __file__)
