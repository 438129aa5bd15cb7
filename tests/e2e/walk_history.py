"""What a random walk expects: which object should be where, from the repository and what others have.

The rules are a few lines each and were written without a look at the planner. `History` is what the daemon must
remember (orphans, preserved copies, what a workload that is an orphan needs), kept up to date at each settling, which
is why one burst of edits touches a name once at most. What people pushed is in `walk_model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from tests.e2e.walk_model import CLUSTERS, DELETION_PROTECTED, GIZMOS, KINDS, MAPS, PRUNE_DISABLED, Repository


@dataclass(frozen=True)
class Seen:
    """What the clusters show, as far as the rules ask for it."""

    taken: frozenset[tuple[str, str]] = frozenset()
    """(cluster, name) that others have, or that a wave before it keeps from being written."""
    behind: frozenset[tuple[str, str]] = frozenset()
    """(cluster, workload) whose copy there does not run the template's version: a wave before it cannot end, or its
    policy is suspended there."""
    current: frozenset[tuple[str, str]] = frozenset()
    """(cluster, workload) whose copy there runs the template's version, wanted there or not: while a broken policy
    could have meant the place that it is to leave, it is still kept up to date there."""


class Copy(NamedTuple):
    """What of a copy of ours says what will become of it."""

    version: str | None
    kept: bool
    """Annotated never to be deleted."""
    guarded: bool
    """Labelled to outlive its template."""

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Copy:
        metadata = body["metadata"]
        return cls(
            version(body),
            kept=PRUNE_DISABLED.items() <= (metadata.get("annotations") or {}).items(),
            guarded=DELETION_PROTECTED.items() <= (metadata.get("labels") or {}).items(),
        )


Copies: TypeAlias = Mapping[tuple[str, str], Copy]
"""By (cluster, name)."""


@dataclass
class Others:
    """What somebody else has in the clusters, in the way of templates or beside them."""

    repository: Repository
    foreign: dict[tuple[str, str], str] = field(default_factory=dict)
    """(cluster, ConfigMap) → what it holds."""
    rivals: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """(cluster, ConfigMap of ours) → (uid, the version that somebody else declares)."""

    def objects(self) -> set[tuple[str, str]]:
        """Those of `foreign` that no policy takes over."""
        return {(where, name) for where, name in self.foreign if not self.is_taken_over(where, name)}

    def is_taken_over(self, where: str, name: str) -> bool:
        repository = self.repository
        return (
            name in MAPS and repository.wants(name, where) and repository.overwrites(name)
            and not repository.suspends(name, where)
        )  # fmt: skip

    def declared(self, where: str, name: str, uid: str) -> str | None:
        """What somebody else declares its version to be, and we leave at that."""
        rival = self.rivals.get((where, name))
        return rival[1] if rival is not None and rival[0] == uid and not self.repository.overwrites(name) else None

    def stopped(self, where: str) -> set[str]:
        """Of the second wave everything, where the first cannot end: something in it is somebody else's."""
        repository = self.repository
        in_the_way = [
            name for at, name in self.objects() | self.rivals.keys()
            if at == where and name in MAPS and repository.wants(name, where) and not repository.templates[name].wave
            # What is to be taken over as soon as its policy lets it is waited for by nobody.
            and not repository.overwrites(name)
        ]  # fmt: skip
        return {name for name, one in repository.templates.items() if one.wave} if in_the_way else set()

    def seen(self, copies: Copies) -> Seen:
        """What of the clusters is not ours to decide. `copies`: those of ours that are there now."""
        repository = self.repository
        stopped = {(where, name) for where in CLUSTERS for name in self.stopped(where)}
        behind = {
            (where, name) for (where, name), copy in copies.items()
            if name in repository.templates and copy.version != str(repository.templates[name].version)
            and ((where, name) in stopped or repository.suspends(name, where))
        }  # fmt: skip
        current = {
            (where, name) for (where, name), copy in copies.items()
            if name in repository.templates and copy.version == str(repository.templates[name].version)
        }  # fmt: skip
        taken = self.objects() | (stopped - copies.keys())
        return Seen(frozenset(taken), frozenset(behind), frozenset(current))

    def lost(self, where: str) -> None:
        """A cluster has nothing any more."""
        self.foreign = {one: text for one, text in self.foreign.items() if one[0] != where}
        self.rivals = {one: rival for one, rival in self.rivals.items() if one[0] != where}

    def settled(self) -> None:
        """What was taken over is ours from now on."""
        self.foreign = {one: self.foreign[one] for one in self.objects()}


@dataclass
class History:
    repository: Repository
    ours: dict[str, set[str]] = field(default_factory=dict)
    """Where copies of ours were when all was settled last."""
    placed: set[str] = field(default_factory=set)
    """Templates that a policy placed since they, or copies, are there: without it their copies are orphans."""
    preserved: set[str] = field(default_factory=set)
    """Templates whose last policy, or those that took them along last, said that copies outlive them."""
    annotated: set[str] = field(default_factory=set)
    """Templates that said last that no copy is ever deleted: not one that was never written so either."""
    shares: dict[str, set[str]] = field(default_factory=dict)
    """By template: where its last policy placed it."""
    targets: dict[str, set[str]] = field(default_factory=dict)
    """The same, and where others needed it."""
    taken_along: set[str] = field(default_factory=set)
    """Templates that somebody needed when they had a policy last, or since."""
    left: dict[str, set[str]] = field(default_factory=dict)
    """By template: where it was while its policy preserved it, and left: those copies stay for good."""
    holds: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """By object: (cluster, workload) of copies whose running version took it along."""
    remembered: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """By object: (cluster, workload) that it was needed by when its template was last there, with a copy or without."""
    copies: Copies = field(default_factory=dict)
    """What they were then."""
    known: frozenset[str] = frozenset()
    """Which templates there were then."""
    decided: dict[str, set[str]] = field(default_factory=dict)
    """By template without a policy: clusters made anew for which a policy decided once. Should a policy come that names
    dead clusters only, that decision stands until one of them is back, and a copy is made there once more."""

    still_held: set[tuple[str, str, str]] = field(default_factory=set)
    """(object, cluster, workload) of `perhaps_holders` that the state branch remembers."""

    def lost(self, where: str) -> None:
        """A cluster has nothing any more: what is not wanted there does not come back."""
        for name, copies in self.ours.items():
            if where in copies and name not in self.repository.rules:
                self.decided.setdefault(name, set()).add(where)
            copies.discard(where)
        self.holds = {name: {one for one in held if one[0] != where} for name, held in self.holds.items()}
        self.copies = {one: copy for one, copy in self.copies.items() if one[0] != where}

    def expected(self, name: str, seen: Seen) -> set[str]:
        """Where copies of ours should be, once all is settled."""
        repository = self.repository
        before = self.ours.get(name, set())
        was = {where: self.copies[where, name] for where in before}
        kept = {where for where, copy in was.items() if copy.kept} | (before & self.left.get(name, set()))
        if name not in repository.templates:
            if name in self.preserved | self.annotated or not repository.prunes:
                return set(before)
            return kept | {where for where, copy in was.items() if copy.guarded}
        rule = repository.rules.get(name)
        needed = {where for where in CLUSTERS if repository.is_needed(name, where)}
        if rule is not None:
            wanted = set(rule.clusters) | needed
            stays = set(before) if rule.preserves else set()
        elif name in self.placed:
            # Where it only came along, it goes with those that took it.
            came = before - self.shares[name] if needed or name in self.taken_along else set()
            wanted, stays = needed, set(before) if repository.preserves(name) else before - came
        else:
            # Those that take it along say whether it is preserved where it leaves.
            wanted, stays = needed, set(before) if repository.preserves(name) else set()
        stays |= set(before) if repository.templates[name].keeps or not repository.prunes else kept
        stays |= before & {where for where, _ in self.holders(name, seen)}
        taken = {
            where for where in wanted
            if (where, name) in seen.taken or (where not in before and repository.suspends(name, where))
        }  # fmt: skip
        # A move is over when all that should be is there: until then nothing leaves.
        return (wanted - taken) | (set(before) if taken else stays)

    def may_stay(self, name: str, seen: Seen) -> set[str]:
        """Where a copy may have come by an old decision that stood for a while, and is not deleted any more; and where
        something may still run with it."""
        held = {where for where, _ in self.perhaps_holders(name, seen)}
        template, rule = self.repository.templates.get(name), self.repository.rules.get(name)
        if template is None or rule is None or not (template.keeps or rule.preserves or not self.repository.prunes):
            return held
        return held | self.decided.get(name, set())

    def concerns(self, name: str) -> set[str]:
        """The names whose copies, or what is remembered of them, an edit of this one may change."""
        held = {
            one
            for item, holders in self.holds.items()
            for _, app in holders
            if name in (item, app)
            for one in (item, app)
        }
        return self.repository.concerns(name) | held

    def version(self, name: str, where: str) -> str | None:
        """What a copy should be that is wanted there: where nothing may be written, it stays as it was."""
        if self.repository.suspends(name, where) and (where, name) in self.copies:
            return self.copies[where, name].version
        return str(self.repository.templates[name].version)

    def holders(self, name: str, seen: Seen) -> set[tuple[str, str]]:
        """(cluster, workload) of copies that run with an object that they do not take along any more.

        One that is nowhere wanted but stays (an orphan, or preserved) runs with what it had; one that runs its new
        version, wherever, lets go of the rest. Those that are only not let go yet hold what the
        workload takes along now: nobody says that they are to stay as they were.
        """
        perhaps = self.perhaps_holders(name, seen)
        return {one for one in self._running_with(name, seen) if one not in perhaps or (name, *one) in self.still_held}

    def perhaps_holders(self, name: str, seen: Seen) -> set[tuple[str, str]]:
        """Those of them that may have let go: they came to their new version just before their place was lost, and
        whether that was seen to run in time nobody can tell; or they were orphans, and now a policy wants them there
        and is suspended, so that nobody looks whether they are as it says."""
        return {
            (where, app)
            for where, app in self._running_with(name, seen)
            if (where, app) not in seen.behind
            and (
                self._is_wanted_and_suspended(app, where)
                or ((where, app) in seen.current and self._let_go(name, where, app))
            )
        }

    def _is_wanted_and_suspended(self, app: str, where: str) -> bool:
        return self.repository.wants(app, where) and self.repository.suspends(app, where)

    def _running_with(self, name: str, seen: Seen) -> set[tuple[str, str]]:
        repository = self.repository
        leaving = {
            (where, app)
            for app, rule in repository.rules.items()
            if repository.takes(app, name) and not rule.preserves
            for where in self.ours.get(app, ())
        }
        return {
            (where, app)
            for where, app in self.holds.get(name, set()) | leaving
            if where in self.ours.get(app, ())
            and (
                (where, app) in seen.behind
                or not repository.wants(app, where)
                or self._is_wanted_and_suspended(app, where)
            )
            and where in self.expected(app, seen)
            and not (repository.takes(app, name) and where in repository.rules[app].clusters)
        }

    def _let_go(self, name: str, where: str, app: str) -> bool:
        """Whether a copy that runs its template's version came to it since all was settled, and needs the object no
        more. While the object's template was gone nobody looked: what was remembered then stays."""
        then = self.copies.get((where, app))
        template = self.repository.templates[app]
        moved_on = then is not None and then.version != str(template.version)
        return moved_on and name in self.known and name not in template.refers

    def requirements(self, name: str, seen: Seen) -> set[tuple[str, str, bool]]:
        """(workload, cluster, whether it takes the object there or only runs with it) as the state branch must say."""
        repository = self.repository
        takers = [app for app in repository.rules if repository.takes(app, name)]
        active = {(app, where, True) for app in takers for where in repository.rules[app].clusters}
        return active | {(app, where, False) for where, app in self.holders(name, seen)}

    def settled(self, copies: Copies, seen: Seen) -> None:
        """All is as it should be: this is what the next edits begin from."""
        ours = {name: {where for where, other in copies if other == name} for name in KINDS}
        expected = {name: self.expected(name, seen) for name in KINDS}
        needs = {
            name: {(where, app) for app, where, _ in self.requirements(name, seen)}
            for name in MAPS if name in self.repository.templates
        }  # fmt: skip
        # While a template is gone nobody looks at what is remembered of it, which lasts as long as its copies.
        self.remembered = needs | {name: self.remembered.get(name, set()) for name in MAPS
                                   if name not in needs and ours[name]}  # fmt: skip
        holds = {
            name: {(where, app) for where, app in known if where in ours[app]}
            for name, known in self.remembered.items()
        }
        for name in KINDS:
            self._remember_places(name, {(app, where) for app, where, _ in self.requirements(name, seen)})
        self.ours, self.holds, self.copies = ours, holds, copies
        self.known, self.still_held = frozenset(self.repository.templates), set()
        self.decided = {name: lost for name, lost in self.decided.items() if name not in self.repository.rules}
        for name in KINDS:
            template = self.repository.templates.get(name)
            if template is None:
                if not expected[name]:
                    for memory in (self.placed, self.preserved, self.annotated, self.taken_along):
                        memory.discard(name)
                    for places in (self.shares, self.targets, self.left):
                        places.pop(name, None)
                continue
            (self.annotated.add if template.keeps else self.annotated.discard)(name)
            if name in self.repository.rules:
                self.placed.add(name)
            if name in self.repository.rules or name not in self.placed:
                preserves = self.repository.preserves(name)
                (self.preserved.add if preserves else self.preserved.discard)(name)

    def _remember_places(self, name: str, needed_by: set[tuple[str, str]]) -> None:
        """Where it is by its policy, and where it stays for good."""
        repository = self.repository
        left, targets = self.left.setdefault(name, set()), self.targets.get(name, set())
        if name not in repository.templates:
            left |= targets if name in self.preserved else set()
            return
        rule = repository.rules.get(name)
        needed = {where for where in CLUSTERS if repository.is_needed(name, where)}
        if rule is not None:
            self.shares[name] = set(rule.clusters)
        if needed_by:
            self.taken_along.add(name)
        elif rule is not None:
            self.taken_along.discard(name)
        self.targets[name] = self.shares.get(name, set()) | needed
        if rule is not None or name not in self.placed:
            left |= targets if repository.preserves(name) else set()
            left -= self.targets[name]


def version(body: Mapping[str, Any]) -> str | None:
    """Of an app its image's, of a ConfigMap or a Gizmo the one it holds."""
    if body["metadata"]["name"] in (*MAPS, *GIZMOS):
        found = (body.get("data") or body.get("spec") or {}).get("version")
    else:
        found = body["spec"]["template"]["spec"]["containers"][0]["image"].removeprefix("nginx:")
    return None if found is None else str(found)
