"""Operations: orders that a caller gives through the hub, put on the state branch as `gitfed suspend` does it.

The daemon signs them with its own key and names the caller in them, so it believes them as it believes itself, and the
branch tells who it was. What the caller may order is asked before: of the AccessPolicies of the commit in force, and
for consent to a held commit those of the commit before it as well, since a push must not bring along the right to
let itself through. Where `spec.guards.approvers` names keys, consent needs one of them, and no hub has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

from aiohttp import web

from gitfed.daemon import wiring
from gitfed.edges.git import signing_key
from gitfed.errors import NotAllowed, NotLeading, NotThere, UsageError
from gitfed.hub import routes
from gitfed.hub.access.caller import Caller
from gitfed.hub.access.rights import Right, Rights, Rulebook, missing
from gitfed.hub.answers.sight import Sight
from gitfed.hub.running import Running
from gitfed.model.base import Commit, ObjectKey, key_from
from gitfed.model.operator_orders import CLUSTER, EVERYTHING, Suspension
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import inputs, orders
from gitfed.offline.order_book import OrderBook
from gitfed.text.values import dataclass
from gitfed.views import names, ordered

T = TypeVar("T")
_LONGEST_REASON = 256
_MOST = 100
"""Things of one order."""


@dataclass(frozen=True, slots=True)
class Giver:
    """Who orders, and what they may."""

    caller: Caller
    rights: Rights

    @property
    def name(self) -> str:
        return _line(self.caller.name)


class Orders:
    """`book` opens the repository and blocks; who reads the state branch elsewhere may do so at the same time."""

    def __init__(self, running: Running, book: Callable[[RepoSnapshot], OrderBook]) -> None:
        self._running = running
        self._book = book
        self._one = asyncio.Lock()

    async def suspend(
        self, giver: Giver, what: str, *, namespace: str = "", reason: str = "", scheduling: bool = False
    ) -> ordered.OrderView:
        """These all raise UsageError, NotThere, NotAllowed, NotLeading, and what `offline.orders` raises."""
        of = self.meant(giver, what, namespace)
        if scheduling and of.startswith(CLUSTER):
            raise UsageError("scheduling is suspended for an object or for all, not for a cluster")
        order = Suspension(of, giver.name, datetime.now(UTC), _line(reason), scheduling)
        await self._give(lambda book: orders.suspend(book, order))
        return {**_order("suspend", giver, [of]), "suspensions": ordered.suspensions([order])}

    async def resume(self, giver: Giver, what: str, *, namespace: str = "") -> ordered.OrderView:
        standing = {order.of for order in self._running.decisions.suspensions}
        # What is gone from the repository may be suspended still.
        of = what if what in standing else self.meant(giver, what, namespace)
        self._check(giver, of)
        ended = await self._give(lambda book: orders.resume(book, of, by=giver.name, now=datetime.now(UTC)))
        return {**_order("resume", giver, [of]), "suspensions": ordered.suspensions(ended)}

    async def reconcile(self, giver: Giver, what: Iterable[str], *, namespace: str = "") -> ordered.OrderView:
        chosen = [self.meant(giver, target, namespace) for target in what] or [self.meant(giver, EVERYTHING, "")]
        if len(chosen) > _MOST:
            raise UsageError(f"{len(chosen)} things are more than one order names, {_MOST}", hint="order all")
        await self._give(lambda book: orders.reconcile(book, chosen, by=giver.name, now=datetime.now(UTC)))
        return _order("reconcile", giver, sorted(set(chosen)))

    async def approve(self, giver: Giver, what: str) -> ordered.OrderView:
        """`what`: the digest of the plan that waits, or the name of a gate."""
        if not giver.rights.everywhere(Right.OPERATE):
            raise NotAllowed(
                f"no AccessPolicy lets {giver.name} operate everything", hint="a plan is let through whole"
            )
        consent = await self._give(lambda book: self._approve(book, giver, what))
        approved: ordered.Approved = {
            "digest": consent.plan.digest,
            "commit": consent.plan.commit,
            "gates": [str(gate) for gate in consent.gates],
        }
        return {**_order("approve", giver, [gate.name for gate in consent.gates]), "approved": approved}

    def _approve(self, book: OrderBook, giver: Giver, what: str) -> orders.Consent:
        past = self._running.decisions
        before: Commit | None = past.limits or past.applied_commit
        base = inputs.read(book.opened, before).repo if before and before != book.repo.commit else book.repo
        if base.settings.spec.guards.approvers:
            raise NotAllowed("spec.guards.approvers says whose signature consents", hint="gitfed approve signs it")
        if not Rulebook(base).of(giver.caller).everywhere(Right.OPERATE):
            raise NotAllowed(
                f"no AccessPolicy of {base.commit[:12]} lets {giver.name} operate everything",
                hint="a commit that waits cannot say who lets it through",
            )
        return orders.approve(book, what, by=giver.name, now=datetime.now(UTC))

    # -- who may ----------------------------------------------------------------------------------------------------

    def meant(self, giver: Giver, what: str, namespace: str) -> str:
        """`all`, `cluster/NAME`, or an object, that the caller may operate. Raises UsageError, NotThere, NotAllowed."""
        repo, plan = self._running.repo, self._running.plan
        if self._running.engine is None or repo is None or plan is None:
            raise NotLeading("this gitfed does not lead, so it takes no orders", hint="ask the one that does")
        sight = Sight(giver.rights, repo.clusters)
        of = what
        if what.startswith(CLUSTER):
            name = what.removeprefix(CLUSTER)
            if name not in repo.clusters or not (sight.cluster(name) or _whole(giver.rights, name)):
                raise NotThere(f"no cluster {name[:253]!r}")
        elif what != EVERYTHING:
            seen = (
                key for key, binding in plan.bindings.items() if sight.binding(binding) or self._may(giver, key, plan)
            )
            of = str(names.find(what, seen, namespace=namespace))
        self._check(giver, of)
        return of

    def offers(self, giver: Giver, of: str) -> bool:
        """Whether `suspend`, `resume` and `reconcile` of it would be taken: then a page has a form for them."""
        return self._running.engine is not None and self._allowed(giver, of)

    def offers_approval(self, giver: Giver) -> bool:
        """What the commit before the one that waits says of it is looked up when the order comes."""
        repo = self._running.repo
        if self._running.engine is None or repo is None or repo.settings.spec.guards.approvers:
            return False
        return giver.rights.everywhere(Right.OPERATE)

    def _allowed(self, giver: Giver, of: str) -> bool:
        plan = self._running.plan
        if of == EVERYTHING:
            return giver.rights.everywhere(Right.OPERATE)
        if of.startswith(CLUSTER):
            return _whole(giver.rights, of.removeprefix(CLUSTER))
        return plan is not None and self._may(giver, key_from(of), plan)

    def _check(self, giver: Giver, of: str) -> None:
        """Raises NotAllowed."""
        if not self._allowed(giver, of):
            what = "everything" if of == EVERYTHING else of
            raise NotAllowed(
                f"no AccessPolicy lets {giver.name} operate {what}", hint=missing(giver.name, Right.OPERATE, what)
            )

    def _may(self, giver: Giver, key: ObjectKey, plan: Plan) -> bool:
        """In every cluster where it is; what is nowhere may come anywhere."""
        repo, binding = self._running.repo, plan.bindings.get(key)
        places = binding.scheduled.clusters if binding is not None else set()
        if binding is not None:
            places |= {task.from_cluster for task in binding.evictions}
        everywhere = repo.clusters.keys() if repo is not None else set()
        return all(giver.rights.on_object(Right.OPERATE, name, key.namespace) for name in places or everywhere)

    # -- giving ---------------------------------------------------------------------------------------------------

    async def _give(self, order: Callable[[OrderBook], T]) -> T:
        """Write it in a thread, one at a time, and have the engine look at once."""
        engine, repo = self._running.engine, self._running.repo
        if engine is None or repo is None:
            raise NotLeading("this gitfed does not lead, so it takes no orders", hint="ask the one that does")

        def give() -> T:
            book = self._book(repo)
            try:
                return order(book)
            finally:
                book.opened.repository.close()

        async with self._one:
            outcome = await asyncio.to_thread(give)
        engine.source_changed()
        return outcome


def giver(request: web.Request) -> Giver:
    return Giver(routes.caller(request), routes.rights(request))


async def ordered_by(
    request: web.Request,
    orders: Orders | None,
    what: str,
    give: Callable[[Orders, Giver], Awaitable[ordered.OrderView]],
) -> ordered.OrderView:
    """The order that a request brings: whatever form it has, the audit's line names the order and what it is about.

    Raises NotLeading, and what `give` raises.
    """
    routes.audited(request, operation=request.path.rpartition("/")[2], of=what[:256])
    if orders is None:
        raise NotLeading("this gitfed does not lead, so it takes no orders", hint="ask the one that does")
    order = await give(orders, giver(request))
    routes.audited(request, of=" ".join(order["of"])[:1024])
    return order


def book_of(options: wiring.DaemonOptions) -> Callable[[RepoSnapshot], OrderBook]:
    """Where the orders of this daemon are written: where a person's are, signed with the daemon's key."""

    def made(repo: RepoSnapshot) -> OrderBook:
        opened = inputs.open_repository(
            options.repo, credentials=options.git_credentials, submodules=options.submodules
        )
        return OrderBook(opened, repo, options.git_credentials, signing_key.of_file(wiring.state_key(options)).sign)

    return made


def _whole(rights: Rights, cluster: str) -> bool:
    """Everything in a cluster: a right for some namespaces is none for the cluster."""
    return any(
        Right.OPERATE in grant.rights and grant.namespaces is None and grant.covers(cluster, "")
        for grant in rights.grants
    )


def _line(text: str) -> str:
    """One line of a commit's message: what a caller is called, or says, must not become a trailer of it."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())[:_LONGEST_REASON]


def _order(name: str, giver: Giver, of: list[str]) -> ordered.OrderView:
    return {"schema": ordered.SCHEMA, "order": name, "by": giver.name, "of": of}
