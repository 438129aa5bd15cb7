"""The templates that a change does not reach: what a look at the others has to know of them all the same.

A glance plans a few templates of many (`affected_objects`). The rest stays as it is, but it counts: a limit may be a
part of all there is, a namespace that no file declares goes where any of its content goes, and a workload that was
placed a moment ago, or is still to be placed, takes room from others. So when everything was looked at, a row is
remembered for each template: where it goes, with how many replicas, and whether it takes room that no facts show yet
(`of`). The rows are good for another look while what they follow from is the same (`Circumstances`); decisions that
were written since, and workloads that take room, are looked at again with the change.

What the rows of those that are not looked at come to is the `scope` of the snapshots that are (`model.scope`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from gitfed.model.base import ClusterName, Commit, Digest, ObjectKey
from gitfed.model.decisions import Decisions, Share
from gitfed.model.plan import Plan
from gitfed.model.scope import PlanScope
from gitfed.placement.scheduling import cluster
from gitfed.render import namespaces
from gitfed.text import canonical
from gitfed.text.identity import IdentityMemo
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.repo import RepoSnapshot

FORMAT = 1


class UnplannedTemplate(NamedTuple):
    """What the plan says of one template."""

    where: frozenset[ClusterName]
    replicas: int | None
    """In all clusters together; None of what has no replicas."""
    claims: bool
    """It takes room in this plan or the next that the facts do not show (`place.claiming`)."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Everything that rows follow from besides the files and decisions of the templates themselves."""

    digest: Digest
    """Over the clusters as they are, but for their room, and what is suspended."""
    facts_taken: datetime | None
    now: datetime
    until: datetime | None
    """When something falls due although nothing happens; None: never."""

    @classmethod
    def of(cls, plan: Plan, candidates: Iterable[cluster.Candidate], decisions: Decisions) -> Circumstances:
        """`decisions`: what the plan was made from; of its bindings nothing is read."""
        orders = [[suspension.of, suspension.scheduling] for suspension in decisions.suspensions]
        value = [[cluster.as_json(candidate) for candidate in candidates], orders, decisions.known]
        return cls(Digest(canonical.digest(value)), plan.facts.taken_at, plan.now, plan.look_again)

    def allow(self, later: Circumstances) -> bool:
        """Whether what was true in these circumstances is true in `later` ones. Newer facts show more of what was
        placed, so that nothing takes more room than it did."""
        if (self.facts_taken is None) is not (later.facts_taken is None):
            return False
        if self.facts_taken is not None and later.facts_taken is not None and later.facts_taken < self.facts_taken:
            return False
        return self.digest == later.digest and self.now <= later.now and (self.until is None or later.now < self.until)


@dataclass(frozen=True, slots=True)
class Bystanders:
    commit: Commit
    state: str
    """The commit of the state branch whose decisions were planned from; "": there was no branch."""
    circumstances: Circumstances
    rows: Mapping[ObjectKey, UnplannedTemplate]

    def scope(self, others: Collection[ObjectKey], base: RepoSnapshot, head: RepoSnapshot) -> PlanScope:
        """What `others` come to, which are in neither snapshot."""
        looked_at = base.manifests.keys() | head.manifests.keys()
        spaces = {key.name if namespaces.is_namespace(key) else key.namespace for key in looked_at}
        copies, replicas = 0, 0
        places: dict[str, set[frozenset[ClusterName]]] = {}
        for key in others:
            row = self.rows[key]
            copies += len(row.where)
            replicas += row.replicas or 0
            places.setdefault(key.namespace, set()).add(row.where)
        united = {
            space: frozenset[ClusterName]().union(*clusters)
            for space, clusters in places.items()
            if space and any(clusters)
        }
        implied = {
            ObjectKey("", "Namespace", "", space): where
            for space, where in united.items()
            if space not in spaces and _is_implied(space, base)
        }
        copies += sum(map(len, implied.values()))
        placed = {
            name: frozenset(
                [key for key in others if name in self.rows[key].where]
                + [key for key, where in implied.items() if name in where]
            )
            for name in base.clusters.keys() & head.clusters.keys()
            if base.clusters[name] is not head.clusters[name]
        }
        content = {space: where for space, where in united.items() if space in spaces}
        return PlanScope(copies=copies, replicas=replicas, content=content, placed=placed)

    def claiming(self) -> set[ObjectKey]:
        return {key for key, row in self.rows.items() if row.claims}

    def dump(self) -> bytes:
        numbers: dict[frozenset[ClusterName], int] = {}
        for row in self.rows.values():
            numbers.setdefault(row.where, len(numbers))
        now = self.circumstances
        return canonical.dumps(
            {
                "format": FORMAT,
                "commit": self.commit,
                "state": self.state,
                "digest": now.digest,
                "factsTaken": _text(now.facts_taken),
                "now": _text(now.now),
                "until": _text(now.until),
                "places": [sorted(where) for where in numbers],
                "rows": [[*key, numbers[row.where], row.replicas, row.claims] for key, row in self.rows.items()],
            }
        )


def of(
    plan: Plan,
    circumstances: Circumstances,
    state: str,
    templates: Iterable[ObjectKey],
    claims: Collection[ObjectKey],
) -> Bystanders:
    """The rows of a plan of everything, for its `templates`; `claims`: those that take room."""
    places = IdentityMemo(_places)  # most templates share their shares
    rows = {}
    for key in templates:
        binding = plan.bindings[key]
        where, replicas = places(binding.scheduled.shares)
        rows[key] = UnplannedTemplate(where, None if binding.scheduled.replicas is None else replicas, key in claims)
    return Bystanders(plan.commit, state, circumstances, rows)


def _places(shares: tuple[Share, ...]) -> tuple[frozenset[ClusterName], int]:
    return frozenset(share.cluster for share in shares), sum(share.replicas or 0 for share in shares)


def load(content: bytes) -> Bystanders | None:
    """What `dump` wrote; None for anything else."""
    try:
        value = canonical.loads(content)
        if value["format"] != FORMAT:
            return None
        places = [frozenset(where) for where in value["places"]]
        rows = {ObjectKey(*row[:4]): UnplannedTemplate(places[row[4]], row[5], row[6]) for row in value["rows"]}
        now = _time(value["now"])
        if now is None:
            return None
        circumstances = Circumstances(Digest(value["digest"]), _time(value["factsTaken"]), now, _time(value["until"]))
        return Bystanders(Commit(value["commit"]), value["state"], circumstances, rows)
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def _is_implied(space: str, repo: RepoSnapshot) -> bool:
    """Whether the namespace is an object of the plan although no file declares it."""
    declared = ObjectKey("", "Namespace", "", space) in repo.manifests
    return not declared and not namespaces.is_reserved(space, repo.settings)


def _text(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()


def _time(text: Any) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
