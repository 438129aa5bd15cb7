"""What an import made, and what it could not take over: one line for each, with a code that scripts may go by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import field
from enum import StrEnum

from gitfed.model.base import Body
from gitfed.text.values import dataclass


class Code(StrEnum):
    """Why something is not in the repository as it was, or not at all."""

    SECRET = "SecretLeftOut"  # noqa: S105
    """Its values do not belong into Git."""
    GENERATED = "Generated"
    """A controller or the cluster makes it."""
    SYSTEM = "System"
    """It belongs to the cluster itself."""
    NOT_FEDERATED = "NotFederated"
    """The other system does not send it anywhere."""
    NOT_PLACED = "NotPlaced"
    """It is sent to no cluster; it has no policy here either."""
    UNKNOWN_TYPE = "UnknownType"
    """Nothing says which kind it stands for."""
    INVALID = "Invalid"
    """The other system would refuse it."""
    BOUNDS = "ReplicaBounds"
    """Least and most replicas of a cluster are not kept when the total changes."""
    REBALANCE = "Rebalance"
    """Replicas that run stay where they are there; here the weights decide."""
    REPLICAS = "Replicas"
    """The number of replicas is not the one that stands in the template."""
    EMPTY_WORKLOAD = "EmptyWorkload"
    """A workload with no replicas in a cluster is not made there."""
    CREDENTIALS = "Credentials"
    """How the cluster is reached has to be said to the daemon."""
    NO_EQUIVALENT = "NoEquivalent"
    """Nothing here does that."""


@dataclass(frozen=True, slots=True)
class Finding:
    code: Code
    subject: str
    """What it is about, as `Kind/namespace/name`."""
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """Bodies by path, ready to be written, and what is to be known about them."""

    files: dict[str, list[Body]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    def counts(self) -> Counter[str]:
        """How many objects of each kind."""
        return Counter(str(body.get("kind")) for bodies in self.files.values() for body in bodies)


def subject(body: Body) -> str:
    """`Kind/namespace/name`, as the commands take it."""
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    parts = (body.get("kind"), metadata.get("namespace"), metadata.get("name"))
    return "/".join(str(part) for part in parts if part)


def sorted_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By code in the order above, then by subject; the same one once."""
    order = list(Code)
    return tuple(
        sorted(set(findings), key=lambda finding: (order.index(finding.code), finding.subject, finding.message))
    )
