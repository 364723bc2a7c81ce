"""Operators: the prompts that ask for a draft, a fix, an improvement, or a crossover of two solutions.

The prompts include a bounded summary of earlier nodes, failures included.
"""

from dataclasses import dataclass

from assay.agents.aide.journal import fix_chain
from assay.agents.prompts import Templates
from assay.agents.replies import code_block
from assay.core.text import cut_middle, one_line
from assay.models import Message
from assay.records import Journal
from assay.records.events import SearchNode

_MAX_PLAN = 400
_MAX_REASON = 200
_MAX_OUTPUT = 5_000
_MAX_GOOD_OUTPUT = 2_000
_COMPLEXITY_HINTS = (
    "- Keep it simple: propose what an experienced engineer would try first.",
    "- Use moderate complexity: go beyond the obvious, but combine no more than two ideas.",
    "- Be ambitious: simple approaches have been tried, so propose something more advanced, such as feature "
    "engineering for this data, other kinds of models, or careful tuning.",
)
_FEW_SIBLINGS, _SOME_SIBLINGS = 2, 4


@dataclass(frozen=True)
class Memory:
    """How much a prompt says about earlier nodes: at most so many characters, and whether failed nodes are included."""

    size: int
    failures: bool = True


@dataclass(frozen=True)
class OperatorPrompts:
    """What is constant in a search: the templates, the system prompt, and how much of the past is included."""

    templates: Templates
    system: str
    memory: Memory
    complexity_hints: bool = False


@dataclass(frozen=True)
class RemainingBudget:
    """What is left of the budget, and how long the next script may run, in words."""

    steps_left: int
    time_left: str
    limit: str
    models: str = ""


def make_messages(
    prompts: OperatorPrompts,
    journal: Journal,
    node: SearchNode,
    budget: RemainingBudget,
    complaint: str = "",
    *,
    compression: int = 0,
) -> list[Message]:
    """Return the messages that ask for the script of a node.

    `complaint` says what was wrong with the previous reply. Each level of `compression` keeps a quarter of the past.
    """
    templates, divisor = prompts.templates, 4**compression
    values: dict[str, object] = {"budget": templates.fill("budget", **vars(budget))}
    parents = [journal.nodes[id] for id in node.parents]
    if node.operator == "debug":
        values |= _describe_buggy(journal, parents[0], prompts.memory.size // divisor, _MAX_OUTPUT // divisor)
    else:
        hint = complexity_hint(journal, node) if prompts.complexity_hints else ""
        values["memory"] = summarize_nodes(journal, prompts.memory.size // divisor, failures=prompts.memory.failures)
        values["complexity"] = f"{hint}\n" if hint else ""
    if node.operator in ("improve", "crossover", "ablate", "refine"):
        values |= _describe_good(parents[0])
    if node.operator in ("improve", "ablate"):
        values["output"] = _output_block(parents[0], _MAX_GOOD_OUTPUT // divisor)
    if node.operator == "refine":
        values["ablation"] = _output_block(parents[1], _MAX_OUTPUT // divisor)
        values["measured"] = ", ".join(map(str, parents[1].parents))
    if node.operator == "crossover":
        values |= {f"other_{name}": text for name, text in _describe_good(parents[1]).items()}
    values["siblings"] = describe_siblings(journal, node)
    prompt = templates.fill(node.operator, **values)
    return [Message(role="system", text=prompts.system), Message(role="user", text=prompt + complaint)]


def complexity_hint(journal: Journal, node: SearchNode) -> str:
    """Return how complex a solution should be: the more siblings were tried, the more complex."""
    siblings = sum(other.parents == node.parents and other.operator == node.operator for other in journal.nodes) - 1
    return _COMPLEXITY_HINTS[(siblings >= _FEW_SIBLINGS) + (siblings >= _SOME_SIBLINGS)]


def describe_siblings(journal: Journal, node: SearchNode) -> str:
    """Say what else is being written at the same time, so that equal prompts do not lead to equal scripts."""
    pending = [other for other in journal.nodes if other.status == "pending"]
    alike = [other.id for other in pending if (other.operator, other.parents) == (node.operator, node.parents)]
    if len(alike) < 2:
        return ""
    others = [f"- Solution {other.id} is {_describe_work(other)}." for other in pending if other.id != node.id]
    rank = alike.index(node.id) + 1
    return (
        "# Parallel solutions\n\n"
        f"This is solution {node.id}. Others are being written in parallel:\n\n"
        + "\n".join(others)
        + f"\n\n{len(alike)} of these, including this one, start from exactly what you see here. List the ideas "
        f"you would try, most promising first, and implement idea {rank}; the other solutions implement the "
        "other ideas.\n\n"
    )


def _describe_work(node: SearchNode) -> str:
    parents = " and ".join(map(str, node.parents))
    phrases = {
        "draft": "a new draft",
        "debug": f"a fix of solution {parents}",
        "improve": f"an improvement of solution {parents}",
        "ablate": f"a measurement of what the parts of solution {parents} contribute",
        "refine": f"a change of the part of solution {node.parents[0] if node.parents else ''} that matters most",
        "crossover": f"a combination of solutions {parents}",
    }
    return phrases[node.operator]


def summarize_nodes(journal: Journal, max_length: int, *, failures: bool = True) -> str:
    """Return a summary of earlier nodes for drafts and improvements.

    Where not everything fits, the best good nodes take precedence, followed by the latest failures.
    """
    failed = [node for node in reversed(journal.nodes) if node.buggy and failures]
    ranked = [*sorted(journal.good, key=journal.value, reverse=True), *failed]
    entries: dict[int, str] = {}
    remaining = max_length
    for node in ranked:
        entry = _summarize_node(node)
        if len(entry) <= remaining:
            entries[node.id] = entry
            remaining -= len(entry) + 1
    lines = [entries[id] for id in sorted(entries)]
    omitted = len(ranked) - len(entries)
    if omitted:
        lines.append(f"({omitted} more omitted)")
    return "\n".join(lines) or "None; this is the first solution."


def summarize_fixes(journal: Journal, node: SearchNode, max_length: int) -> str:
    """Return the failed attempts to fix a node, which is all of the past that a debug prompt includes."""
    fixes = fix_chain(journal, node)[1:]
    lines = [f"- {one_line(fix.plan, _MAX_PLAN)} Result: {_describe_failure(fix)}" for fix in fixes]
    return cut_middle("\n".join(lines), max_length) or "None so far."


def _summarize_node(node: SearchNode) -> str:
    origin = f" of {' and '.join(map(str, node.parents))}" if node.parents else ""
    result = f"metric {node.metric:.6g}" if node.good else f"failed: {_describe_failure(node)}"
    review = f" Review: {one_line(node.review, _MAX_REASON)}" if node.review and node.good else ""
    return f"- {node.id} ({node.operator}{origin}), {result}. {one_line(node.plan, _MAX_PLAN)}{review}"


def _describe_failure(node: SearchNode) -> str:
    """Return why a node failed, in one line, with the last line of the script's output."""
    execution = node.execution
    last = execution.output.strip().splitlines()[-1:] if execution and not execution.succeeded else []
    return one_line(": ".join([node.reason, *last]), _MAX_REASON)


def _describe_good(node: SearchNode) -> dict[str, object]:
    code = code_block(node.code, "python")
    return {"number": node.id, "value": f"{node.metric:.6g}", "plan": node.plan, "code": code}


def _describe_buggy(journal: Journal, node: SearchNode, max_fixes: int, max_output: int) -> dict[str, object]:
    return {
        "plan": node.plan,
        "code": code_block(node.code, "python"),
        "why": node.reason.rstrip("."),
        "output": _output_block(node, max_output),
        "fixes": summarize_fixes(journal, node, max_fixes),
    }


def _output_block(node: SearchNode, max_length: int) -> str:
    return code_block(cut_middle(node.execution.output if node.execution else "", max_length))
