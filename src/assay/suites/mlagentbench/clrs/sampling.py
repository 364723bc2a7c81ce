"""Draw graphs with the published benchmark's own samplers, from the files of its package, without its dependencies.

The package is not installed: it would bring two gigabytes of libraries for its models that its samplers do not need.
The samplers use only a few names of those libraries, which are replaced by substitutes while the modules are loaded.
The files are verified by hash before, so it is always the same code. Only the innermost loops of the algorithm, over
all pairs of nodes, are replaced by operations on whole arrays, which give the same numbers to the last bit.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]

ALGORITHM = "floyd_warshall"


class Sampler:
    """The published sampler of shortest paths between all pairs of nodes."""

    def __init__(self, raw: Path) -> None:
        with load_samplers(raw) as samplers:
            self._build = samplers.build_sampler

    def draw(self, count: int, nodes: int, *, seed: int, chances: Sequence[float] = (0.5,)) -> Arrays:
        """Return graphs, their predecessors, and distances, predecessors and reached pairs before each step."""
        sampler, _ = self._build(ALGORITHM, count, length=nodes, seed=seed, p=tuple(chances))
        drawn = sampler.next()
        points = [*drawn.features.inputs, *drawn.features.hints, *drawn.outputs]
        arrays = {point.name: np.asarray(point.data) for point in points}
        # The first axis of hints is the step; here the first axis of all arrays is the graph.
        before = {name: np.moveaxis(arrays[name], 0, 1) for name in ("D", "Pi_h", "msk")}
        return {
            "graphs": arrays["A"].astype(np.float32),
            "pointers": arrays["Pi"].astype(np.int8),
            "distances_before": before["D"].astype(np.float32),
            "pointers_before": before["Pi_h"].astype(np.int8),
            "reached_before": before["msk"].astype(np.int8),
        }


def floyd_warshall(published: ModuleType, lengths: np.ndarray) -> tuple[np.ndarray, Any]:
    """Compute what the function of this name in the published module `graphs` does, a step at a time.

    No length is negative, so step k changes neither row k nor column k, and the order of the pairs does not matter.
    """
    probing, stage = published.probing, published.specs.Stage
    probes = probing.initialize(published.specs.SPECS[ALGORITHM])
    count = len(lengths)
    adjacent = probing.graph(lengths)
    probing.push(probes, stage.INPUT, {"pos": np.arange(count) / count, "A": lengths.copy(), "adj": adjacent})
    distances, reached = lengths.copy(), adjacent
    pointers = np.repeat(np.arange(count, dtype=float)[:, None], count, axis=1)
    for k in range(count):
        turn = probing.mask_one(k, count)
        probing.push(probes, stage.HINT, {"Pi_h": pointers, "D": distances, "msk": reached, "k": turn})
        detour = distances[:, k, None] + distances[k]
        possible = (reached[:, k, None] > 0) & (reached[k] > 0)
        better = possible & ((reached == 0) | (detour < distances))
        distances = np.where(better, detour, distances)
        pointers = np.where(better, pointers[k], pointers)
        reached = np.where(possible, 1.0, reached)
    probing.push(probes, stage.OUTPUT, {"Pi": pointers})
    probing.finalize(probes)
    return pointers, probes


@contextmanager
def load_samplers(raw: Path) -> Iterator[ModuleType]:
    """Load the samplers' module; remove it and all substitutes from `sys.modules` afterwards."""
    source = raw / "clrs" / "_src"
    substitutes = _substitutes() | {
        "clrs": _module("clrs", __path__=[str(raw / "clrs")]),
        "clrs._src": _module("clrs._src", __path__=[str(source)]),
        "clrs._src.algorithms": _module("clrs._src.algorithms", __path__=[str(source / "algorithms")]),
    }
    before, dont_write_bytecode = dict(sys.modules), sys.dont_write_bytecode
    sys.modules.update(substitutes)
    sys.dont_write_bytecode = True
    try:
        graphs = importlib.import_module("clrs._src.algorithms.graphs")
        setattr(substitutes["clrs._src.algorithms"], ALGORITHM, partial(floyd_warshall, graphs))
        yield importlib.import_module("clrs._src.samplers")
    finally:
        sys.dont_write_bytecode = dont_write_bytecode
        for name in {*substitutes, *(name for name in sys.modules if name.startswith("clrs."))}:
            sys.modules.pop(name, None)
            if name in before:
                sys.modules[name] = before[name]


def _substitutes() -> dict[str, ModuleType]:
    tree = _module("jax.tree_util", tree_map=_map_points, register_pytree_node_class=lambda kind: kind)
    logging = _module("absl.logging", **dict.fromkeys(("info", "warning", "log_first_n"), _nothing), WARNING=0)
    return {
        "absl": _module("absl", logging=logging),
        "absl.logging": logging,
        "attr": _module("attr", define=_with_constructor),
        "chex": _module("chex", assert_rank=_nothing),
        "jax": _module("jax", Array=np.ndarray, numpy=np, tree_util=tree),
        "jax.numpy": np,
        "jax.tree_util": tree,
        "tensorflow": _module("tensorflow", Tensor=type("Tensor", (), {})),
    }


def _module(name: str, **names: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(names)
    return module


def _nothing(*_: object, **__: object) -> None:
    pass


def _map_points(function: Callable[..., Any], *trajectories: Sequence[Any]) -> list[Any]:
    """Apply a function to the data of corresponding points; their trees are plain lists here."""
    return [
        type(points[0])(
            points[0].name, points[0].location, points[0].type_, function(*(point.data for point in points))
        )
        for points in zip(*trajectories, strict=True)
    ]


def _with_constructor(kind: type) -> type:
    """Give a class of annotated fields a constructor with parameters of the same names, without the underscore."""
    fields = list(kind.__annotations__)
    parameters = [field.lstrip("_") for field in fields]

    def construct(self: object, *values: object, **named: object) -> None:
        arguments = dict(zip(parameters, values, strict=False)) | named
        for field, parameter in zip(fields, parameters, strict=True):
            setattr(self, field, arguments[parameter])

    kind.__init__ = construct  # type: ignore[misc]
    return kind
