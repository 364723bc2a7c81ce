"""The tree of a search agent's nodes, drawn for the report page: which script came from which, and how it did."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.core.figure import Axis, Figure
from assay.core.home import Home
from assay.core.text import cut_middle, one_line, strip_control
from assay.records import Journal, RunFolder, TrialFolder, read_events, read_journal
from assay.records.events import SearchNode
from assay.records.search import has_nodes
from assay.results.frame import make_registry
from assay.results.progress import load_scores

if TYPE_CHECKING:
    from markupsafe import Markup

_MAX_CODE = 20_000
_MAX_OUTPUT = 2_000
_MAX_PAGE = 4_000_000
_WIDTH, _LABELED = 1000, 60
"""Pixels that a tree fills if it can, and how far apart dots are that have their metric beside them."""


@dataclass(frozen=True)
class TreeNode:
    """One node as the page shows it: `result` is the metric it claims, `score` the graded one where it is known."""

    node: SearchNode
    depth: int
    kind: str
    result: str
    score: str
    code: "Markup"
    output: "Markup"


@dataclass(frozen=True)
class SearchTree:
    """The search of one trial: its nodes, parents before children, and a drawing of them."""

    trial: str
    title: str
    agent: str
    seed: int
    prefix: str
    nodes: tuple[TreeNode, ...]
    figure: Figure

    def find(self, id: int) -> TreeNode | None:
        """Return a node by its number."""
        return next((entry for entry in self.nodes if entry.node.id == id), None)


def collect_trees(run: RunFolder) -> list[SearchTree]:
    """Return the tree of each trial of a run in which an agent searched; beyond some size, without scripts."""
    trees: list[SearchTree] = []
    room = _MAX_PAGE
    folders = [folder for folder in run.trials() if folder.has_log and has_nodes(folder.events)]
    registry = make_registry([folder.file for folder in folders])
    for folder in folders:
        task = registry.recorded_task(folder.file.task)
        journal = read_journal(read_events(folder.events), task.metric.direction)
        if not journal.nodes:
            continue
        tree = make_tree(journal, folder, task.title, f"tree{len(trees)}", with_code=room > 0)
        room -= sum(len(drawn.code) + len(drawn.output) for drawn in tree.nodes)
        trees.append(tree)
    return trees


def make_tree(journal: Journal, folder: TrialFolder, title: str, prefix: str, *, with_code: bool = True) -> SearchTree:
    """Return the tree of a journal, with the scores of its nodes as far as they were graded."""
    scores = load_scores(folder, [node.submission for node in journal.nodes], Home.default())
    positions = place_nodes(journal)
    best = journal.best
    drawn = []
    for id in positions:
        node = journal.nodes[id]
        output = node.execution.output if node.execution else ""
        drawn.append(
            TreeNode(
                node=node,
                depth=positions[id][1],
                kind=_kind(node, best),
                result=f"{node.metric:.6g}" if node.good and node.metric is not None else one_line(node.reason, 80),
                score=f"{scores[node.submission]:.6g}" if node.submission in scores else "",
                code=_preformat(node.code if with_code else "", _MAX_CODE),
                output=_preformat(output if with_code else "", _MAX_OUTPUT),
            )
        )
    file = folder.file
    figure = draw_tree(journal, positions, prefix)
    return SearchTree(folder.path.name, title, file.label, file.seed, prefix, tuple(drawn), figure)


def place_nodes(journal: Journal) -> dict[int, tuple[float, int]]:
    """Return the column and the depth of each node, in the order of a walk from the drafts to their descendants.

    A leaf takes the next column; an inner node is in the middle above its children. A crossover hangs on its first
    parent.
    """
    children: dict[int | None, list[int]] = {}
    for node in journal.nodes:
        children.setdefault(node.parents[0] if node.parents else None, []).append(node.id)
    depths: dict[int, int] = {}
    stack = [(id, 0) for id in reversed(children.get(None, []))]
    while stack:
        id, depth = stack.pop()
        depths[id] = depth
        stack += [(child, depth + 1) for child in reversed(children.get(id, []))]
    columns: dict[int, float] = {}
    leaves = 0
    for id in depths:
        if id not in children:
            columns[id] = leaves
            leaves += 1
    for id in reversed(depths):
        if id in children:
            below = [columns[child] for child in children[id]]
            columns[id] = (min(below) + max(below)) / 2
    return {id: (columns[id], depth) for id, depth in depths.items()}


def find_best_path(journal: Journal) -> set[int]:
    """Return the nodes that led to the best one, and that itself."""
    path, node = set[int](), journal.best
    while node is not None and node.id not in path:
        path.add(node.id)
        node = journal.nodes[node.parents[0]] if node.parents else None
    return path


def draw_tree(journal: Journal, positions: dict[int, tuple[float, int]], prefix: str) -> Figure:
    """Draw the tree: a dot per node, linked to its entry in the list below."""
    width, depth = (max(ends) for ends in zip(*positions.values(), strict=True))
    apart = min(max(_WIDTH / (width + 1), 26), 140)
    x, y = Axis(low=0, high=width + _LABELED / apart, ticks=()), Axis(low=0, high=depth, ticks=(), reverse=True)
    size = {"width": round(apart * width + _LABELED + 32), "height": 52 * depth, "pad": 16}
    figure = Figure("tree", "Tree of nodes", x, y, **size)
    path = find_best_path(journal)
    for id, position in positions.items():
        for number, parent in enumerate(journal.nodes[id].parents):
            style = "muted dashed thin" if number else "good" if id in path else "muted thin"
            figure.line([positions[parent], position], style=style)
    for id, position in positions.items():
        node = journal.nodes[id]
        style = {"best-node": "hollow good", "buggy": "hollow bad"}.get(_kind(node, journal.best), "hollow muted")
        hover = one_line(f"{id} {node.operator}: {node.metric if node.good else node.reason}", 120)
        figure.dot(*position, size=8, label=str(id), style=style, hover=hover, link=f"#{prefix}-{id}")
        if node.good and node.metric is not None and apart >= _LABELED:
            figure.text(*position, f"{node.metric:.4g}", shift=(12, 4), style="small muted")
    return figure


def _preformat(text: str, max_length: int) -> "Markup":
    """Return text that keeps its line breaks on the page, escaped."""
    from markupsafe import escape

    return escape(strip_control(cut_middle(text, max_length)))


def _kind(node: SearchNode, best: SearchNode | None) -> str:
    if best is not None and node.id == best.id:
        return "best-node"
    return node.status
