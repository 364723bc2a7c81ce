"""Trajectories of other harnesses as traces, which pages show like those of our own trials."""

from collections.abc import Sequence

from assay.interop.trajectories import ToolUse, TrajectoryStep
from assay.web.trace import Block, Entry, Step, Trace, argument_blocks, clean_line


def trace_steps(steps: Sequence[TrajectoryStep]) -> Trace:
    """Return a trajectory as a trace: a step of the agent is its message, and each of its tool calls."""
    start = next((step.at for step in steps if step.at), None)
    traced, number, turn = [], 0, 0
    for step in steps:
        at = (step.at - start).total_seconds() if step.at and start else 0.0
        own = step.source not in ("system", "user")
        turn += own
        blocks = [Block("reasoning", step.reasoning, folded=True)] if step.reasoning else []
        blocks += [Block("message", step.message)] if step.message else []
        entries = [
            Entry(
                number,
                "model" if own else "event",
                clean_line(f"{step.source}: {step.message}", 160),
                at,
                tokens=step.tokens,
                cost=step.cost,
                blocks=blocks,
            )
        ]
        entries += [_trace_use(use, number + position, at) for position, use in enumerate(step.uses, 1)]
        number += len(entries)
        traced.append(Step(turn if own else None, tuple(entries)))
    return Trace(tuple(traced))


def _trace_use(use: ToolUse, number: int, at: float) -> Entry:
    output = [Block("output", use.output)] if use.output else []
    return Entry(number, "action", clean_line(use.name, 120), at, blocks=[*argument_blocks(use.arguments), *output])
