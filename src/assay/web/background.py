"""Values that take long, each computed once: for whoever asks first, or in a thread."""

import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar, cast

Value = TypeVar("Value")


class Background:
    """Values by key. An error is raised where the value is asked for, and forgotten, so that the next one tries again.

    Args:
        max_values: How many values are kept, the newest ones.
        is_stopping: Whether the thread should end.
    """

    def __init__(self, max_values: int | None = None, is_stopping: Callable[[], bool] = lambda: False) -> None:
        self._max_values, self._is_stopping = max_values, is_stopping
        self._values: dict[Hashable, Future[Any]] = {}
        self._waiting: deque[tuple[Hashable, Callable[[], object]]] = deque()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.finished = 0
        """How many values the thread has computed."""

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def find(self, key: Hashable) -> Any:
        """Return the value of a key; None if it is not known yet."""
        value = self._values.get(key)
        return value.result() if value and value.done() else None

    def compute(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the value of a key; whoever asks while it is computed waits for it."""
        with self._lock:
            value, is_first = self._claim(key)
        if is_first:
            self._run(key, compute)
        return cast(Value, value.result())

    def begin(self, key: Hashable, compute: Callable[[], object]) -> None:
        """Compute the value of a key in a thread, after those begun before; nothing if it is known or under way."""
        with self._lock:
            if not self._claim(key)[1]:
                return
            self._waiting.append((key, compute))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def _claim(self, key: Hashable) -> tuple[Future[Any], bool]:
        """Return the future value of a key, and whether the caller has to compute it."""
        if key in self._values:
            return self._values[key], False
        if self._max_values is not None and len(self._values) >= self._max_values:
            self._values.pop(next(iter(self._values)))
        self._values[key] = Future()
        return self._values[key], True

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._is_stopping():
                    self._thread = None
                    return
                key, compute = self._waiting.popleft()
            self._run(key, compute)
            self.finished += 1

    def _run(self, key: Hashable, compute: Callable[[], object]) -> None:
        future = self._values[key]
        try:
            future.set_result(compute())
        except BaseException as error:  # noqa: BLE001 - raised where the value is asked for
            self._values.pop(key, None)
            future.set_exception(error)
