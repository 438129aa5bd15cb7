"""Who writes in one cluster: the process that raised the term of its inventory last.

`Leadership` is that of a process which decides itself, `GivenLead` that of one which carries out what another decides:
its term and its name come from there. A member asks neither which of the two it has.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable
from typing import Protocol

from gitfed import errors
from gitfed.edges.kube.inventory import Inventory
from gitfed.model import leader
from gitfed.model.leader import Term

_LOOK_AT_LEAD = 1.0
"""Seconds between two looks at the inventory's leader, at what the watch has brought anyway."""
_ONE_SHOT = 600.0
"""Seconds after which what is carried out once counts as killed."""
_RESIGN = 2.0


class LeadIsFree(Exception):
    """The process that led in our place has ended, or the lead was given to us anew: the service begins again."""


class LedWorker(Protocol):
    """What is asked of the worker."""

    stopped: str
    abandoned: bool


class Leading(Protocol):
    @property
    def name(self) -> str:
        """How an inventory names us."""

    @property
    def term(self) -> int | None:
        """None: we did not lead here yet."""

    def claim(self) -> None: ...
    async def begin(self, inventory: Inventory) -> None:
        """Wait until it may begin, and raise the term. Raises NotOwned, ClusterError."""

    async def follow(self, inventory: Inventory, worker: LedWorker) -> None:
        """Runs beside the worker. Raises LeadIsFree."""

    async def resign(self, inventory: Inventory | None, worker: LedWorker | None) -> None:
        """We end in good order."""


class Leadership:
    """`called`: how our name in the inventory begins. `adopt`: a person wants it to be ours, whatever repository it
    belongs to."""

    def __init__(self, repository_id: Callable[[], str], *, called: str = "", adopt: bool = False) -> None:
        self.name = f"{called}-{uuid.uuid4().hex}" if called else uuid.uuid4().hex
        self.term: int | None = None
        self._repository_id = repository_id
        self._adopt = adopt
        self._claim = asyncio.Event()

    def claim(self) -> None:
        self._claim.set()

    async def begin(self, inventory: Inventory) -> None:
        """Raise the term once in this process's life: a process that meets a higher one was replaced, and stops."""
        await self._claim.wait()
        inventory.repository_id = self._repository_id()
        if inventory.snapshot.term > (self.term or 0) and leader.is_done(inventory.snapshot.leader):
            self.term = None  # the process that led in our place meanwhile has ended
        if self.term is None:
            self.term = inventory.snapshot.term + 1
        if self._adopt:
            await inventory.adopt(self.term)
            self._adopt = False
        else:
            await inventory.raise_term(self.term)

    async def follow(self, inventory: Inventory, worker: LedWorker) -> None:
        """Where another process began to lead, go on when that one has ended: in good order, or after a while where one
        plan was carried out. Another daemon that lives keeps the lead."""
        since, leading = 0.0, ""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(_LOOK_AT_LEAD)
            name = inventory.snapshot.leader
            if not worker.stopped or worker.abandoned or leader.kind(self.name) != leader.DAEMON:
                continue
            if name != leading:
                since, leading = clock(), name
            over = leader.kind(name) == leader.ONE_SHOT and clock() - since > _ONE_SHOT
            if inventory.snapshot.term > (self.term or 0) and (leader.is_done(name) or over):
                self.term = None
                raise LeadIsFree

    async def resign(self, inventory: Inventory | None, worker: LedWorker | None) -> None:
        """A process that waits for the lead need not wait for a lease to run out."""
        if inventory is None or self.term is None or (worker is not None and worker.stopped):
            return
        with contextlib.suppress(errors.GitfedError, TimeoutError):
            async with asyncio.timeout(_RESIGN):
                await inventory.resign()


class GivenLead:
    """That of an agent. A lower term than one that was given before is never taken."""

    def __init__(self) -> None:
        self.lead: Term | None = None
        self._begun: Term | None = None
        self._given = asyncio.Event()
        self._news = asyncio.Event()

    @property
    def name(self) -> str:
        return self.lead.name if self.lead is not None else ""

    @property
    def term(self) -> int | None:
        return self._begun.term if self._begun is not None else None

    def claim(self) -> None:
        """The lead itself is the claim."""

    def give(self, lead: Term) -> None:
        """Raises StaleTerm."""
        if self.lead is not None and lead.term < self.lead.term:
            raise errors.StaleTerm(f"term {lead.term} is over: this cluster is led in term {self.lead.term}")
        self.lead = lead
        self._given.set()
        self._news.set()

    async def begin(self, inventory: Inventory) -> None:
        await self._given.wait()
        lead = self.lead
        assert lead is not None
        inventory.repository_id, inventory.leader = lead.repository_id, lead.name
        if lead.adopt and lead != self._begun:
            await inventory.adopt(lead.term)
        else:
            await inventory.raise_term(lead.term)
        self._begun = lead

    async def follow(self, inventory: Inventory, worker: LedWorker) -> None:
        """A new lead: the service begins again where nothing was written under the old one, else it goes on."""
        while True:
            self._news.clear()
            lead, begun = self.lead, self._begun
            if lead is not None and begun is not None and lead != begun:
                if worker.stopped or lead.adopt or lead.repository_id != begun.repository_id:
                    raise LeadIsFree
                await self.begin(inventory)
            await self._news.wait()

    async def resign(self, inventory: Inventory | None, worker: LedWorker | None) -> None:
        """The lead is not ours to give back: the hub that gave it still has it."""
