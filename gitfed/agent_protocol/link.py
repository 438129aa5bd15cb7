"""One connection between a hub and an agent, from the handshake to its end: the same on both sides.

It sends what `Told` has to say whenever there is something, hands what is heard to its handlers, carries questions and
answers, and notices silence: a side that sends nothing for the length of a lease is gone, whatever TCP believes.

While nothing changes no message goes either way. That both sides live is shown by pings of the WebSocket, which the
agent sends and the hub answers: a few bytes each, that no proxy on the way mistakes for an idle connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from enum import Enum
from typing import Any, Protocol, TypeVar

from gitfed.agent_protocol import frames
from gitfed.agent_protocol.frames import Ack, Answer, Ask, Beat, Bye, Frame, Hello, Put, Welcome
from gitfed.agent_protocol.replica import Heard, Told, ValueChange
from gitfed.errors import GitfedError, LinkCut, LinkError
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.link")
_T = TypeVar("_T")

BEATS = 4
"""Signs of life in the time of one lease."""
_MOST_ASKED = 32
"""Questions that are being answered at a time."""
_GOODBYE = 2.0


class SignsOfLife(Enum):
    """How this side shows that it lives while it has nothing to say."""

    BEATS = "beats"
    """By messages, as both sides of the version before."""
    PINGS = "pings"
    """It pings, and is answered: the agent's side."""
    ANSWERS = "answers"
    """It answers pings: the hub's side."""

    @classmethod
    def of(cls, version: int, *, agent: bool) -> SignsOfLife:
        if version < frames.PINGS:
            return cls.BEATS
        return cls.PINGS if agent else cls.ANSWERS


class Socket(Protocol):
    """Messages, whole ones. All but `close` end with LinkCut."""

    async def send(self, data: bytes) -> None: ...
    async def receive(self) -> bytes | None:
        """None: a ping, which is answered by then, or the answer to one."""

    async def ping(self) -> None: ...
    async def close(self) -> None: ...


async def greet(socket: Socket, hello: Hello, patience: float) -> Welcome:
    """The agent's side of the handshake. Raises LinkError."""
    await socket.send(frames.encode(hello))
    answer = await _greeting(socket, patience)
    if isinstance(answer, Bye):
        raise LinkError(answer.why, final=answer.final)
    if not isinstance(answer, Welcome):
        raise LinkError("the hub does not answer a greeting")
    if not frames.OLDEST <= answer.version <= frames.NEWEST or not 1.0 <= answer.lease <= 3600.0:
        raise LinkError(f"the hub wants version {answer.version} and a lease of {answer.lease} s", final=True)
    return answer


async def greeted(socket: Socket, patience: float) -> Hello:
    """The hub's side, to be answered with a Welcome or a Bye. Raises LinkError."""
    hello = await _greeting(socket, patience)
    if not isinstance(hello, Hello):
        raise LinkError("an agent begins with a greeting")
    return hello


async def refuse(socket: Socket, error: LinkError) -> None:
    """Say why, and end it."""
    hint = f" ({error.hint})" if error.hint else ""
    with contextlib.suppress(LinkError, TimeoutError):
        await _within(socket.send(frames.encode(Bye(f"{error.message}{hint}"[:2000], error.final))), _GOODBYE)
    await socket.close()


async def _within(work: Coroutine[Any, Any, _T], seconds: float) -> _T:
    """Raises TimeoutError. `asyncio.wait_for` may forget that it was cancelled when its work ends in that moment: then
    the task that cancelled a reader would wait for the next frame."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            raise TimeoutError
        return task.result()
    finally:
        task.cancel()


async def _greeting(socket: Socket, patience: float) -> Frame:
    data = await _received(socket, patience)
    if data is None:
        raise LinkError("a connection begins with a greeting")
    return frames.decode(data)


async def _received(socket: Socket, patience: float) -> bytes | None:
    try:
        return await _within(socket.receive(), patience)
    except TimeoutError:
        raise LinkCut(f"no sign of life for {patience:g} s") from None


@dataclass(frozen=True, slots=True)
class LinkHandlers:
    """What one side does with what the other one sends."""

    change: Callable[[ValueChange], None]
    """Takes in a change, as a whole. Raises LinkError for what makes no sense."""
    question: Callable[[str, Any], Awaitable[Any]]
    """Answers a question by its name and what it is about."""
    alive: Callable[[], None] = lambda: None
    """Hears of every sign of life."""


class Link:
    """`run` it after the handshake; it ends with LinkError."""

    def __init__(
        self,
        socket: Socket,
        told: Told,
        heard: Heard,
        handlers: LinkHandlers,
        *,
        lease: float,
        life: SignsOfLife = SignsOfLife.BEATS,
    ) -> None:
        self._socket = socket
        self._told = told
        self._heard = heard
        self._lease = lease
        self._handlers = handlers
        self._life = life
        self._wake = asyncio.Event()
        self._alive_at = 0.0
        """When the other side gave a sign of life last, by the loop's clock."""
        self._sending: dict[object, float] = {}
        """Since when what is being sent by the tasks of `run` is."""
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._last_question = 0
        self.messages = 0
        """Sent and heard; pings are none."""
        self.ended = asyncio.Event()
        """Nothing is sent, heard or taken by it."""
        self.ended.set()
        self._answering: set[asyncio.Task[None]] = set()

    def poke(self) -> None:
        """There is something to say."""
        self._wake.set()

    async def ask(self, what: str, about: Any = None, *, patience: float) -> Any:
        """Raises LinkError when the other side cannot answer, and LinkCut when it does not."""
        self._last_question += 1
        number = self._last_question
        answer = self._questions[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send(Ask(number, what, about))
            done, _ = await asyncio.wait({answer}, timeout=patience)
            if not done:
                raise LinkCut(f"no answer to {what} in {patience:g} s")
            return answer.result()
        finally:
            self._questions.pop(number, None)
            answer.cancel()

    async def run(self) -> None:
        """Raises LinkError, whatever the end was."""
        self.ended.clear()
        self._alive_at = asyncio.get_running_loop().time()
        tasks = [asyncio.create_task(loop()) for loop in (self._read, self._tell, self._beat, self._watch)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (*tasks, *self._answering):
                task.cancel()
            await asyncio.gather(*tasks, *self._answering, return_exceptions=True)
            self._told.disconnect()
            self.ended.set()
            for answer in self._questions.values():
                if not answer.done():
                    answer.set_exception(LinkCut("the connection is gone"))
            self._questions.clear()

    async def close(self, error: LinkError) -> None:
        """Tell the other side why; `run` ends soon."""
        await refuse(self._socket, error)

    async def _send(self, frame: Frame) -> None:
        await self._sent(self._socket.send(frames.encode(frame)))
        self.messages += 1

    async def _sent(self, sending: Coroutine[Any, Any, None]) -> None:
        try:
            await _within(sending, self._lease)
        except TimeoutError:
            raise self._cannot_send() from None

    def _cannot_send(self) -> LinkCut:
        return LinkCut(f"nothing could be sent for {self._lease:g} s")

    async def _write(self, frame: Frame) -> None:
        """The same as `_send` for a task of `run`, which ends with it: `_watch` sees to the time."""
        token = object()
        self._sending[token] = asyncio.get_running_loop().time()
        try:
            await self._socket.send(frames.encode(frame))
        finally:
            del self._sending[token]
        self.messages += 1

    async def _watch(self) -> None:
        """Ends when nothing was heard, or something could not be sent, for a lease. A timer for each message would cost
        more than the message: a commit is some twenty to each agent."""
        loop = asyncio.get_running_loop()
        while True:
            left = min(self._alive_at, *self._sending.values(), loop.time()) + self._lease - loop.time()
            if left > 0:
                await asyncio.sleep(left)
            elif self._alive_at + self._lease <= loop.time():
                raise LinkCut(f"no sign of life for {self._lease:g} s")
            else:
                raise self._cannot_send()

    async def _tell(self) -> None:
        while True:
            self._wake.clear()
            if not await self._tell_next():
                await self._wake.wait()

    async def _tell_next(self) -> bool:
        """Whether there was anything to say. Of a change nothing stays here once it is sent: a hub has a thousand
        links, and most of them wait."""
        parts = self._told.next()
        for part in parts:
            await self._write(part)
        return bool(parts)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._lease / BEATS)
            if self._life is SignsOfLife.BEATS:
                await self._send(Beat())
            elif self._life is SignsOfLife.PINGS:
                await self._sent(self._socket.ping())

    async def _read(self) -> None:
        while True:
            await self._read_next()

    async def _read_next(self) -> None:
        """One message, of which nothing stays here while the next is waited for (`_tell_next`): as values it takes ten
        times what is kept of it."""
        data = await self._socket.receive()
        self._alive_at = asyncio.get_running_loop().time()
        self._handlers.alive()
        if data is None:
            return
        self.messages += 1
        frame = frames.decode(data)
        if isinstance(frame, Put):
            change = self._heard.take(frame, len(data))
            if change is not None and (change.set or change.gone):
                self._handlers.change(change)
            if frame.last:
                await self._write(Ack(frame.n))
        elif isinstance(frame, Ack):
            self._told.acknowledged(frame.n)
            self._wake.set()
        elif isinstance(frame, Ask):
            if len(self._answering) >= _MOST_ASKED:
                raise LinkError("too many questions at a time")
            task = asyncio.create_task(self._answer(frame))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif isinstance(frame, Answer):
            self._answered(frame)
        elif isinstance(frame, Bye):
            raise LinkError(frame.why, final=frame.final)
        elif not isinstance(frame, Beat):
            raise LinkError("a greeting in the middle of a connection")

    async def _answer(self, question: Ask) -> None:
        try:
            answer = Answer(question.id, await self._handlers.question(question.what, question.about))
        except GitfedError as error:
            answer = Answer(question.id, error=str(error)[:2000])
        with contextlib.suppress(LinkError):  # then the reader knows it too
            await self._send(answer)

    def _answered(self, frame: Answer) -> None:
        waiting = self._questions.get(frame.id)
        if waiting is None or waiting.done():
            return
        if frame.error:
            waiting.set_exception(LinkError(frame.error))
        else:
            waiting.set_result(frame.value)
