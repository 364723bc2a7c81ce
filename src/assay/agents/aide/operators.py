"""What a model is asked in a search: a draft, a fix, an improvement, or a merger of two solutions."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.agents.aide.journal import Journal, Node
from assay.agents.aide.memory import memory, past_fixes
from assay.agents.mlagentbench.actions.shortened import shortened
from assay.agents.prompts import Templates

if TYPE_CHECKING:
    from assay.models import Message

_OUTPUT = 5_000
_OUTPUT_OF_A_GOOD_NODE = 2_000
_COMPLEXITY = (
    "- Aim for something simple: what a skilled person would try first.",
    "- Aim for something of ordinary complexity: more than the obvious, but no more than two ideas.",
    "- Aim high: the obvious has been tried, so something more elaborate is in order, such as features made for this "
    "data, other kinds of models, or careful tuning.",
)
_FEW, _SOME = 2, 4


@dataclass(frozen=True)
class Prompts:
    """What stays the same in a search: the task and its surroundings, and how much of the past is told."""

    texts: Templates
    system: str
    memory: int
    complexity: bool = False


@dataclass(frozen=True)
class Left:
    """What is left of the budget, and how long the next script may take, in words."""

    steps_left: int
    time_left: str
    limit: str
    models: str = ""


def question(
    prompts: Prompts, journal: Journal, node: Node, left: Left, complaint: str = "", *, squeezed: int = 0
) -> "list[Message]":
    """What is asked for a node that was chosen; each time it is `squeezed`, a quarter of the past remains.

    A `complaint` says what was wrong with the last answer to the same.
    """
    from assay.models import Message

    texts, share = prompts.texts, 4**squeezed
    told: dict[str, object] = {"left": texts.fill("aide_left", **vars(left))}
    if node.operator == "debug":
        told |= _broken(journal, journal.nodes[node.parents[0]], prompts.memory // share, _OUTPUT // share)
    else:
        hint = complexity(journal, node) if prompts.complexity else ""
        told |= {"memory": memory(journal, prompts.memory // share), "complexity": f"{hint}\n" if hint else ""}
    if node.operator in ("improve", "crossover"):
        told |= _good(journal.nodes[node.parents[0]])
    if node.operator == "improve":
        told |= {"output": _output(journal.nodes[node.parents[0]], _OUTPUT_OF_A_GOOD_NODE // share)}
    if node.operator == "crossover":
        told |= {f"other_{name}": text for name, text in _good(journal.nodes[node.parents[1]]).items()}
    asked = texts.fill(f"aide_{node.operator}", **told)
    return [Message(role="system", text=prompts.system), Message(role="user", text=asked + complaint)]


def complexity(journal: Journal, node: Node) -> str:
    """How elaborate a solution should be: the more was tried from the same place, the more."""
    siblings = sum(other.parents == node.parents and other.operator == node.operator for other in journal.nodes) - 1
    return _COMPLEXITY[(siblings >= _FEW) + (siblings >= _SOME)]


def fenced_off(text: str, language: str = "") -> str:
    """A text between fences that it does not hold itself, whatever it holds."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _python(code: str) -> str:
    return fenced_off(code, "python")


def _good(node: Node) -> dict[str, object]:
    return {"number": node.id, "value": f"{node.metric:.6g}", "plan": node.plan, "code": _python(node.code)}


def _broken(journal: Journal, node: Node, most: int, output: int) -> dict[str, object]:
    return {
        "plan": node.plan,
        "code": _python(node.code),
        "why": node.why.rstrip("."),
        "output": _output(node, output),
        "fixes": past_fixes(journal, node, most),
    }


def _output(node: Node, most: int) -> str:
    return fenced_off(shortened(node.ran.output if node.ran else "", most))
