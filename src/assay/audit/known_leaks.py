"""What is known of a task from outside its data, such as labels that anyone can look up."""

from assay.audit.finding import AuditFinding
from assay.data.store import Prepared
from assay.tasks.facts import read_facts

CHECK = "public labels"


def list_known(prepared: Prepared) -> list[AuditFinding]:
    """Report what no check of the data can find: answers that are public elsewhere."""
    return [
        AuditFinding(CHECK, "medium", leak.text, (f"source: {leak.source}",), "reports, not the data")
        for leak in read_facts(prepared.task.folder).leaks
        if leak.status == "outside"
    ]
