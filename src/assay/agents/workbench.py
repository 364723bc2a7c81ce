"""What an agent is given: the task's public side, the lab, models, and what is left of its budget.

Every act goes on the tape, so that it is recorded, and played back when the trial is taken up again.
"""

import errno
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from assay.agents.footing import Footing
from assay.agents.observation import ActionFailed, Observation
from assay.agents.serialize import completed, told
from assay.agents.session import Said, Session
from assay.agents.terminal import ask_person
from assay.core.errors import ModelError, PromptTooLong, UnsafePath, UsageError
from assay.lab.interface import Completed
from assay.records import OutOfBudget

if TYPE_CHECKING:
    from assay.models import Message, Reply, Tool

_FULL = "there is no space left in the workspace for {path!r}"
_REFUSALS = {errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.ENAMETOOLONG: "{path!r} is too long a name"}


class Workbench(Footing):
    """The one way for an agent to act: the lab and models, under a budget, all of it in the record."""

    async def run(self, command: Sequence[str], *, seconds: float | None = None, stdin: bytes = b"") -> Completed:
        """Run a command in the workspace as one step, for at most `seconds` and never past the deadline."""
        self.clock.step()
        result = await self.execute(command, seconds=seconds, stdin=stdin)
        await self.snapshot()
        return result

    async def act(
        self, name: str, arguments: Mapping[str, Any], perform: Callable[[], Awaitable[Observation]]
    ) -> Observation:
        """Take one step that has a name: whatever `perform` does with the bench is a part of it.

        The record shows the action with its arguments, what the agent was told, how long it took, and the cause if it
        failed. The workspace is kept afterwards.
        """
        self.clock.step()
        began = self.clock.elapsed
        spent: OutOfBudget | None = None
        try:
            observation = await perform()
        except ActionFailed as failure:
            observation = failure.observation
        except OutOfBudget as error:
            spent, observation = error, Observation(f"The trial is over: {error}.", "budget")

        async def do() -> dict[str, Any]:
            seconds = round(self.clock.elapsed - began, 3)
            return {"observation": observation.text, "cause": observation.cause, "seconds": seconds}

        result = await self._deed("act", {"name": name, "arguments": dict(arguments)}, do)
        await self.snapshot()
        if spent:
            raise spent
        return Observation(result["observation"], result["cause"])

    async def execute(
        self,
        command: Sequence[str],
        *,
        seconds: float | None = None,
        stdin: bytes = b"",
        changes: bool = True,
        lane: str = "",
    ) -> Completed:
        """Run a command as a part of a step; say so where it only looks and `changes` nothing.

        Commands that run side by side need a `lane` each. The workspace can be read and written when all have ended.
        """
        allowed = self._allowed(seconds)

        async def do() -> dict[str, Any]:
            variables = await self.tell_budget(allowed)
            return told(await self._lab.run(command, seconds=allowed, stdin=stdin, variables=variables))

        result = await self._deed(
            "run",
            {"command": list(command)},
            do,
            changes=changes,
            lane=lane,
            seconds=round(allowed, 3),
            **({"stdin": self._contents.keep(stdin)} if stdin else {}),
        )
        return completed(result)

    async def say_to_session(self, command: str, *, seconds: float | None = None) -> Said:
        """Run Python code in a session that keeps its state, as a part of a step.

        Between commands the session and all that it started hold still. One that takes too long is ended, and so is
        one whose trial is interrupted: the next command begins a new one, and says that it did.
        """
        allowed = self._allowed(seconds)

        async def do() -> dict[str, Any]:
            variables = await self.tell_budget(allowed)
            lost = self._session_open and self._session is None
            session = self._session or await Session.start(self._lab, variables)
            # Should the command be cut off, the session is gone with it.
            self._session = None
            said = await session.execute(command, allowed)
            self._session = session if said.ended is None else None
            return {**asdict(said), "lost": lost}

        result = await self._deed("session", {"command": command}, do, changes=True, seconds=round(allowed, 3))
        said = Said(**result)
        self._session_open = said.ended is None
        return said

    async def write(self, path: str, content: str | bytes) -> None:
        """Put a file into the workspace."""
        data = content.encode(errors="replace") if isinstance(content, str) else content

        async def do() -> dict[str, Any]:
            try:
                await self._lab.write(path, data)
            except UnsafePath as error:
                return {"refused": str(error)}
            except OSError as error:
                if error.errno not in _REFUSALS:
                    raise
                return {"refused": _REFUSALS[error.errno].format(path=path)}
            return {}

        request = {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        _refuse(await self._deed("write", request, do, changes=True, content=self._contents.keep(data)))

    async def read(self, path: str, *, most: int = 10**7) -> bytes:
        """Read a plain file of the workspace; `UnsafePath` says why where it is none."""

        async def do() -> dict[str, Any]:
            try:
                return self._contents.keep(await self._lab.read(path, max_size=most))
            except UnsafePath as error:
                return {"refused": str(error), "missing": isinstance(error.__cause__, FileNotFoundError)}

        result = await self._deed("read", {"path": path}, do)
        _refuse(result)
        return self._contents.give(result)

    async def files(self) -> list[str]:
        """The plain files of the workspace, without the data, in order of their names."""

        async def do() -> dict[str, Any]:
            return {"files": [str(path) async for path in self._lab.files()]}

        names: list[str] = (await self._deed("list", {}, do))["files"]
        return names

    async def ask(
        self,
        role: str,
        messages: Sequence["Message"],
        tools: Sequence["Tool"] = (),
        *,
        lane: str = "",
        faults_count: bool = False,
        choice: str | None = None,
    ) -> "Reply":
        """Ask the model of a role; its reply is written down before anybody acts on it.

        That a question is too long is written down too. A model that cannot be reached is not, so that a trial that
        ends over it asks again when it is taken up; an agent that goes on without the reply says `faults_count`.
        """
        from assay.models import Reply

        if self._models is None:
            raise UsageError("this agent needs a model; name one with --model")
        models = self._models
        self.clock.check()

        async def do() -> dict[str, Any]:
            try:
                reply = await models.ask(role, messages, tools, choice=choice)
            except PromptTooLong as error:
                return {"too_long": str(error)}
            except ModelError as error:
                if not faults_count:
                    raise
                return {"fault": str(error)}
            self.clock.count(tokens=reply.usage.total_tokens, cost=reply.usage.cost, waited=reply.waited)
            content: dict[str, Any] = reply.model_dump(mode="json")
            return content

        recorded = self._tape.playing
        said = [message.model_dump(mode="json", exclude_defaults=True) for message in messages]
        result = await self._deed("ask", {"role": role}, do, lane=lane, messages=said)
        if "too_long" in result:
            raise PromptTooLong(result["too_long"])
        if "fault" in result:
            raise ModelError(result["fault"])
        reply = Reply.model_validate(result)
        if recorded:
            models.remember(reply)
        return reply

    async def ask_person(self, request: str) -> str | None:
        """Ask whoever sits at the terminal, and wait; None where nobody does."""
        self.clock.check()

        async def do() -> dict[str, Any]:
            began = time.monotonic()
            answer = await to_thread.run_sync(ask_person, request, self.terminal, abandon_on_cancel=True)
            self.clock.count(tokens=0, cost=0.0, waited=time.monotonic() - began)
            return {"answer": answer}

        answer: str | None = (await self._deed("person", {"request": request}, do))["answer"]
        return answer

    async def validate(self, path: str | None = None) -> str | None:
        """What is wrong with the form of the submission as it lies in the workspace, or None; never a score.

        With a `path`, what lies there is checked as if it were handed in.
        """

        async def do() -> dict[str, Any]:
            content, why = await self.submission(path)
            return {"fault": why if content is None else await to_thread.run_sync(self._form, content)}

        self.validations += 1
        fault: str | None = (await self._deed("validate", {"path": path} if path else {}, do))["fault"]
        return fault

    async def submission(self, path: str | None = None) -> tuple[bytes | None, str | None]:
        """What lies in the workspace as submission now, there or at another `path`, or why there is none."""
        await self._live()
        wanted = self.task.submission
        try:
            return await self._lab.read(path or wanted.file, max_size=wanted.max_size), None
        except UnsafePath as error:
            return None, f"nothing was handed in: {error}"


def _refuse(result: Mapping[str, Any]) -> None:
    if "refused" in result:
        raise UnsafePath(result["refused"]) from (FileNotFoundError() if result.get("missing") else None)
