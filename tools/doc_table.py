"""Keep the generated tables in pages of the documentation current; the scripts that make them call `update_page`."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
END = "<!-- End of the generated table. -->"


def update_page(name: str, begin: str, content: str) -> int:
    """Replace what is between the comments `begin` and `END`; with `--check`, only exit with 1 if it would change."""
    path = DOCS / name
    page = path.read_text("utf-8")
    before, _, rest = page.partition(begin)
    current = f"{before}{begin}\n\n{content}\n{END}{rest.partition(END)[2]}"
    if "--check" in sys.argv[1:]:
        return 0 if page == current else 1
    path.write_text(current, "utf-8")
    return 0


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ("---",) * len(header), *rows))
