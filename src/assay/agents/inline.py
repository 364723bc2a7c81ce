"""Agents that are defined in a notebook or a script: their source is written to a file that trials can import."""

import ast
import builtins
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

from assay.agents.agent import Agent
from assay.core.disk import atomic_write, make_private_folder
from assay.core.errors import UsageError

AgentSource = type[Agent] | Callable[..., Any]

_WRAPPER = '''

class {name}(Agent):
    """{summary}"""

    async def work(self, bench):
        await _work(bench)
'''


def name_agent(agent: AgentSource, folder: Path) -> str:
    """Return `path.py:name` of an agent: of its own file, or of one in `folder` that its source is written to.

    Args:
        agent: A subclass of `Agent`, or an `async` function that takes a workbench.
        folder: Where the source is written if the agent is not part of a module that can be imported.

    Raises:
        UsageError: It is neither, or it uses a value that cannot be written as source.
    """
    is_class = isinstance(agent, type) and issubclass(agent, Agent)
    if not is_class and not inspect.iscoroutinefunction(agent):
        raise UsageError(f"{agent!r} is not an agent; pass a name, a subclass of assay.Agent, or an async function")
    module = sys.modules.get(agent.__module__)
    file = getattr(module, "__file__", None)
    if is_class and file and agent.__module__ != "__main__" and "." not in agent.__qualname__:
        return f"{Path(file).resolve()}:{agent.__name__}"
    path = folder.resolve() / f"{agent.__name__}.py"
    make_private_folder(path.parent)
    atomic_write(path, _write_module(agent, is_class))
    return f"{path}:{agent.__name__}"


def _write_module(agent: AgentSource, is_class: bool) -> str:
    parts = list(dict.fromkeys(_collect(agent.__name__, agent, agent.__module__, set())))
    if is_class:
        return "\n\n".join(parts) + "\n"
    name, summary = agent.__name__, (inspect.getdoc(agent) or agent.__name__).splitlines()[0]
    header = "from assay.agents import Agent"
    return "\n\n".join([header, *parts, f"_work = {name}"]) + _WRAPPER.format(name=name, summary=summary)


def _collect(name: str, value: Any, module: str, seen: set[str]) -> Iterator[str]:
    """Yield the source of a definition after that of everything it uses, down to imports and constants.

    What `module` defines is written out, because trials may not be able to import it.
    """
    if name in seen:
        return
    seen.add(name)
    if isinstance(value, ModuleType):
        yield f"import {value.__name__} as {name}"
        return
    home, own_name = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", ""))
    if home and home != module and getattr(sys.modules.get(home), own_name, None) is value:
        yield f"from {home} import {own_name} as {name}"
        return
    if not isinstance(value, type | FunctionType):
        yield f"{name} = {_write_constant(name, value)}"
        return
    source = _read_source(value)
    scope = _scope_of(value)
    for used in _names_used(source):
        if used in scope and not hasattr(builtins, used):
            yield from _collect(used, scope[used], module, seen)
    yield source


def _read_source(value: type | FunctionType) -> str:
    """Return the source of a definition; of a class in a notebook, which has no file, through one of its methods."""
    method = value if isinstance(value, FunctionType) else next(filter(_is_function, vars(value).values()), None)
    lines = linecache.getlines(method.__code__.co_filename) if method else []
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == value.__name__:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return dedent("".join(lines[first - 1 : node.end_lineno])).rstrip()
    name = value.__name__
    raise UsageError(f"the source of {name} is not known; put it into a file, and pass path.py:{name}")


def _is_function(value: object) -> TypeGuard[FunctionType]:
    return isinstance(value, FunctionType)


def _scope_of(value: type | FunctionType) -> Mapping[str, Any]:
    if isinstance(value, FunctionType):
        return value.__globals__ | dict(inspect.getclosurevars(value).nonlocals)
    return vars(sys.modules[value.__module__])


def _names_used(source: str) -> list[str]:
    names = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name))
    return list(dict.fromkeys(node.id for node in names if isinstance(node.ctx, ast.Load)))


def _write_constant(name: str, value: Any) -> str:
    text = repr(value)
    try:
        if ast.literal_eval(text) == value:
            return text
    except (ValueError, SyntaxError):
        pass
    raise UsageError(f"{name} cannot be written as source; put the agent into a file, and pass path.py:NAME")
