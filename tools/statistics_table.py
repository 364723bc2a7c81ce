"""Write the table of the short self-test of the statistics into docs/statistics.md; with --check, only compare it."""

import sys
from pathlib import Path

from assay.results.selftest import Check, check_statistics, make_table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "statistics.md"
START, END = "<!-- selftest -->\n", "<!-- /selftest -->"
SIMULATIONS = 300


def fill_page(page: str, checks: list[Check]) -> str:
    """Return the page with the table of these checks."""
    head, _, rest = page.partition(START)
    table = make_table(checks).to_markdown().strip()
    return f"{head}{START}{table}\n{END}{rest.partition(END)[2]}"


def main() -> int:
    """Write the page, or exit with 1 if it is not current."""
    current = PAGE.read_text()
    page = fill_page(current, check_statistics(short=True, simulations=SIMULATIONS))
    if "--check" in sys.argv:
        return 0 if page == current else 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
