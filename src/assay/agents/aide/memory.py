"""What a model is told of earlier nodes: short, failures included, and never more than so many letters."""

import re

from assay.agents.aide.journal import Journal, Node
from assay.agents.mlagentbench.actions.shortened import shortened

_PLAN = 400
_WHY = 200


def memory(journal: Journal, most: int) -> str:
    """What was tried and what came of it, for drafts and improvements.

    Where not everything fits, good nodes go first, the best in front, and then the latest failures.
    """
    failed = [node for node in reversed(journal.nodes) if node.settled and node.buggy]
    ranked = [*sorted(journal.good, key=journal.value, reverse=True), *failed]
    kept: dict[int, str] = {}
    room = most
    for node in ranked:
        entry = _entry(node)
        if len(entry) <= room:
            kept[node.id] = entry
            room -= len(entry) + 1
    left_out = len(ranked) - len(kept)
    notes = [f"({left_out} more are left out here.)"] if left_out else []
    return "\n".join([*(kept[id] for id in sorted(kept)), *notes]) or "Nothing yet; this is the first."


def past_fixes(journal: Journal, node: Node, most: int) -> str:
    """What was tried in vain to fix a node, which is all that somebody who fixes it is told of the past."""
    failed = [f"- {_short(fix.plan, _PLAN)} What came of it: {_cause(fix)}" for fix in journal.chain(node)[1:]]
    return shortened("\n".join(failed), most) or "Nobody has tried to fix it yet."


def _entry(node: Node) -> str:
    origin = f" of {' and '.join(map(str, node.parents))}" if node.parents else ""
    result = f"metric {node.metric:.6g}" if node.good else f"failed: {_cause(node)}"
    finding = f" Finding: {_short(node.finding, _WHY)}" if node.finding and node.good else ""
    return f"- {node.id} ({node.operator}{origin}), {result}. {_short(node.plan, _PLAN)}{finding}"


def _cause(node: Node) -> str:
    """Why a node failed, in one line: the check's or the harness's sentence, and the last thing the script said."""
    said = node.ran.output.strip().splitlines()[-1:] if node.ran and not node.ran.succeeded else []
    return _short(": ".join([node.why, *said]), _WHY)


def _short(text: str, most: int) -> str:
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= most else f"{line[: most - 1]}…"
