"""Whether copies are healthy, where a script says so: asked here, beside the loop, as the daemon does for its clusters.

One question for each version of a copy, the newest only; a script may take seconds, and the task that hears of every
event does not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gitfed.agent.rules import AskedAtTheHub
from gitfed.interpret import collect
from gitfed.interpret.registry import Interpreter, Operation, OperationInputs
from gitfed.model.base import Body, ObjectKey

_AT_ONCE = 500


class ScriptVerdicts:
    """`run` it until it is cancelled. `judged` gets what was said, of the body that it was said of."""

    def __init__(self, judged: Callable[[ObjectKey, Body, collect.Collected], None]) -> None:
        self._judged = judged
        self._interpreter = Interpreter(())
        self._pending: dict[ObjectKey, Body] = {}
        self._asked: dict[ObjectKey, tuple[object, object]] = {}
        """Of which version of a copy it was asked."""
        self._wake = asyncio.Event()

    def follow(self, interpreter: Interpreter) -> None:
        """The rules from now on."""
        self._interpreter = interpreter
        self._pending.clear()
        self._asked.clear()

    def answers(self, body: Body) -> bool:
        """Whether a script that is here says how healthy objects of this kind are."""
        interpreter = self._interpreter
        asked_elsewhere = interpreter.source(body, Operation.HEALTH) == AskedAtTheHub.name
        return collect.has_health_script(body, interpreter) and not asked_elsewhere

    def note(self, key: ObjectKey, body: Body) -> None:
        """This was seen. What was asked already is not asked again."""
        version = (body["metadata"].get("uid"), body["metadata"].get("resourceVersion"))
        if self._asked.get(key) != version and self.answers(body):
            self._asked[key] = version
            self._pending[key] = body
            self._wake.set()

    def forget(self, key: ObjectKey) -> None:
        """It is gone."""
        self._asked.pop(key, None)
        self._pending.pop(key, None)

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            interpreter = self._interpreter
            bodies = dict(list(self._pending.items())[:_AT_ONCE])
            for key in bodies:
                del self._pending[key]
            if not self._pending:
                self._wake.clear()
            verdicts = await asyncio.to_thread(_health_of, interpreter, list(bodies.values()))
            if interpreter is self._interpreter:
                for (key, body), verdict in zip(bodies.items(), verdicts, strict=True):
                    self._judged(key, body, verdict)


def _health_of(interpreter: Interpreter, bodies: list[Body]) -> list[collect.Collected]:
    interpreter.prepare([(Operation.HEALTH, OperationInputs(body)) for body in bodies])
    return [collect.health_of(interpreter, body) for body in bodies]
