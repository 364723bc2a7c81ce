"""Replies kept on disk, so that the same question of the same trial is paid for once."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from assay.core.disk import write_json
from assay.models.messages import Message, Reply, Tool
from assay.models.settings import ModelSettings

FORMAT = "reply/1"


class ReplyCache:
    """A folder with one file per reply, named by the hash of all that makes up the question."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, question: str) -> Reply | None:
        """The reply to a question, if it was given before; a damaged file counts as none."""
        try:
            content = json.loads(self._path(question).read_bytes())
            return Reply.model_validate(content["reply"]) if content["format"] == FORMAT else None
        except (OSError, ValueError, KeyError, TypeError, ValidationError):
            return None

    def put(self, question: str, reply: Reply) -> None:
        """Keep a reply."""
        path = self._path(question)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"format": FORMAT, "reply": reply.model_dump(mode="json")})

    def _path(self, question: str) -> Path:
        return self._folder / question[:2] / f"{question}.json"


def question_of(
    name: str,
    settings: ModelSettings,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    choice: str | None = None,
    *,
    epoch: int,
    number: int,
) -> str:
    """The hash of a question: the model, how it is asked, what it is told, and the place of the question in its trial.

    The place is a part of it because an agent that asks the same twice wants a second opinion, and two seeds want two.
    """
    content = {
        "model": name,
        "settings": settings.shaping(),
        "messages": [message.model_dump(mode="json") for message in messages],
        "tools": [tool.model_dump(mode="json") for tool in tools],
        "epoch": epoch,
        "number": number,
        **({"choice": choice} if choice else {}),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
