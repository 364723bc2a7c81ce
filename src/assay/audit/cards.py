"""One HTML page per audited task: what was found, with evidence, and what was checked without a finding."""

from pathlib import Path

from assay.audit.task_audit import TaskAudit
from assay.core.disk import atomic_write
from assay.core.text import strip_control


def write_card(audit: TaskAudit, folder: Path) -> Path:
    """Write the card of an audit into a folder, named after the task and the edition, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [audit.name.strip("/").replace("/", "-"), *([audit.edition] if audit.edition else [])]
    path = folder / f"{'.'.join(parts)}.html"
    atomic_write(path, render_card(audit).encode(), mode=None)
    return path


def render_card(audit: TaskAudit) -> str:
    """Return the card as HTML. Everything from the data is escaped, and the page has no scripts."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("assay.audit", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: strip_control(value) if type(value) is str else value,
    )
    sections = [
        ("Found", audit.defects()),
        ("Nothing found", [finding for finding in audit.findings if finding.severity == "none"]),
        ("Skipped", [finding for finding in audit.findings if finding.severity == "skipped"]),
    ]
    return environment.get_template("card.html.jinja").render(audit=audit, sections=sections)
