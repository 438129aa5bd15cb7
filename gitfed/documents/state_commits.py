"""What a commit of the state branch says: a subject and reasons for people, and trailers for programs.

```
Decide for 3f2c1a9be014 [skip ci]

Deployment.apps/shop/web → eu-1:6 eu-2:3 us-1:3 (divided by static weights by PropagationPolicy/shop/web)

Gitfed-Decision: decided
Gitfed-Commit: 3f2c1a9be0145f7e2bb8f4a02f3c1d1b1f6a2c44
Gitfed-Facts: facts branch 5b1f0c94be3a1e0f6f3b8f1d9d2a6a2e1c0d7b55
```

A commit that carries one of these trailers is what they say, whatever its subject is. Commits that were written before
there were trailers have it in the subject (`_EARLIER`), and the facts in a line of their own. The last paragraph is
always written by gitfed: no reason that a person gives for an order can pass for a trailer.
"""

from __future__ import annotations

import re
from dataclasses import field
from enum import StrEnum

from gitfed.text import trailers
from gitfed.text.values import dataclass

SKIP = " [skip ci]"
"""The end of each subject: pipelines do not run for it."""
DECISION, COMMIT, FACTS, ORDER = "Gitfed-Decision", "Gitfed-Commit", "Gitfed-Facts", "Gitfed-Order"


class Act(StrEnum):
    """What an engine did; a person's commit is an order, and none of these."""

    DECIDED = "decided"
    """Nothing of it is carried out yet."""
    APPLIED = "applied"
    """Every reachable cluster is done."""
    HELD = "held"
    """Something there waits for a person."""
    FAILED = "failed"
    """Something there was refused."""
    STATUS = "status"
    """Only the state of the copies is news."""


class Order(StrEnum):
    """What a person ordered."""

    APPROVE = "approve"
    FORGET = "forget"
    """A cluster that left the fleet."""
    RECONCILE = "reconcile"
    REMOVE = "delete-orphans"
    RESCHEDULE = "reschedule"
    RESUME = "resume"
    SUSPEND = "suspend"
    TRUST = "trust"
    """The branch as it is (`reading.state_trust`)."""


VERBS = {
    Act.DECIDED: "Decide for",
    Act.APPLIED: "Applied",
    Act.HELD: "Held at",
    Act.FAILED: "Failed at",
    Act.STATUS: "Status at",
}
"""How subjects begin, for people."""
_EARLIER = {f"{verb} ": act for act, verb in VERBS.items()}
_EARLIER_COMMIT = re.compile(r"[0-9a-f]{7,64}\b")
_EARLIER_FACTS = "Facts: "
_FULL = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True, slots=True)
class Message:
    """What is written."""

    subject: str
    reasons: tuple[str, ...] = ()
    trailers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        paragraphs = ("\n".join(part) for part in (self.reasons, trailers.written(self.trailers)) if part)
        return "\n\n".join((self.subject + SKIP, *paragraphs)) + "\n"


@dataclass(frozen=True, slots=True)
class Told:
    """What is read."""

    act: Act | None
    """None: a person's order."""
    commit: str
    """What was decided for, as far as it says so; of a commit without trailers abbreviated."""
    facts: str
    """Commit of the facts branch, "" when other facts were used."""
    reasons: tuple[str, ...]


def acted(act: Act, commit: str, reasons: tuple[str, ...] = (), *, facts: str = "") -> Message:
    """An engine's. `facts`: where they come from, and which."""
    lines = {DECISION: str(act), COMMIT: commit, FACTS: facts}
    return Message(f"{VERBS[act]} {commit[:12]}", reasons, {key: value for key, value in lines.items() if value})


def ordered(order: Order, subject: str, reason: str = "") -> Message:
    """A person's. The reason is as they gave it."""
    return Message(subject, (reason,) if reason else (), {ORDER: str(order)})


def read(subject: str, body: str) -> Told:
    """Raises nothing: anybody may have written it."""
    told = trailers.read(body)
    if DECISION not in told and ORDER not in told:
        return _earlier(subject, body)
    lines = body.strip().splitlines()
    reasons = lines[: len(lines) - len(trailers.last_paragraph(body))]
    act = next((candidate for candidate in Act if candidate == told.get(DECISION)), None)
    return Told(act, told.get(COMMIT, ""), _named(told.get(FACTS, "")), _full_lines(reasons))


def _earlier(subject: str, body: str) -> Told:
    """Of a commit without trailers."""
    start, act = next((pair for pair in _EARLIER.items() if subject.startswith(pair[0])), ("", None))
    commit = _EARLIER_COMMIT.match(subject, len(start)) if act is not None else None
    lines = body.splitlines()
    facts = next((line for line in lines if line.startswith(_EARLIER_FACTS)), "")
    reasons = [line for line in lines if not line.startswith(_EARLIER_FACTS)]
    return Told(act, commit[0] if commit is not None else "", _named(facts), _full_lines(reasons))


def _named(facts: str) -> str:
    last = facts.rpartition(" ")[2]
    return last if _FULL.fullmatch(last) else ""


def _full_lines(lines: list[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line)
