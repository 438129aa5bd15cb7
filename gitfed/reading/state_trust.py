"""Whose commits on the state branch are believed: our own, other engines', and signed orders of people.

Everyone who may push to the repository may push this branch too. So a commit counts for who signed it:

    our own key, `spec.state.writers`    everything: an engine signs only on top of what it believes itself
    `spec.guards.operators`              orders: suspend, remove, reconcile, a task or a placement edited by hand
    `spec.guards.approvers`              consent to what gates hold

All as the base names them (`reading.trust`), never as the state does. Believed is the branch up to the first commit
that does not count; what comes after it is left out, and overwritten by our next push. Without `verify` everything
counts, and what would not is told.

An order to trust the branch as it is (`gitfed state trust`: the trailer `Gitfed-Order: trust`, signed by an operator)
is how a branch from before signatures, or of an engine whose key is lost, counts again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitfed import errors
from gitfed.documents import state_commits
from gitfed.documents.state_commits import Order
from gitfed.edges import git
from gitfed.edges.git import signature
from gitfed.edges.git.signing_key import SigningKey
from gitfed.model.base import Commit
from gitfed.reading import trust
from gitfed.text import trailers, yaml
from gitfed.text.construct import YamlError
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed.record")

_STATE = "state.yaml"
_ORDERS = frozenset({"suspensions", "removals", "reconciliations", "clusters"})
"""Members of state.yaml that an operator may change; the rest tells what an engine did."""
_APPROVALS = "approvals"
_EDITED = ("bindings/", "clusters/")
"""Folders that an operator may edit."""
_UNSURE = "refs/gitfed/state/unsure"
"""Where the branch stood that was believed without a signature."""
_MOST = 1000
"""Commits that are looked at for one that an engine signed."""


@dataclass(frozen=True, slots=True)
class StateVerdict:
    believed: Commit | None
    """The newest commit that counts with all before it."""
    why_not: str = ""
    """Why the next one does not; "" when the whole branch counts."""


class StateTrust:
    """`key` signs our own commits. Blocking: call it from a thread."""

    def __init__(self, source: trust.Trust, key: SigningKey) -> None:
        self._source = source
        self._key = key
        self._newest: Commit | None = None
        self._told: set[str] = set()
        self.left_out = ""
        """Why the last that was asked about does not count, with the commit; "" where all of it does."""

    def look_from(self, newest: Commit) -> None:
        """Who counts is asked of this commit as long as none was accepted."""
        self._newest = newest

    def believed(self, repository: git.Repository, theirs: Commit, ours: Commit | None) -> Commit | None:
        """How far `theirs` counts; None: not at all, and `ours` stays.

        Raises StateNotBelieved where there is nothing else to go by.
        """
        parties = self._parties()
        verdict = judge(repository, theirs, ours, parties)
        self.left_out = verdict.why_not if parties.binding else ""
        if not verdict.why_not:
            return theirs
        if not parties.binding:
            self._tell("the state branch is believed without a signature that counts", theirs, verdict.why_not)
            repository.update_ref(_UNSURE, theirs)
            return theirs
        if verdict.believed is None and ours is None:
            raise errors.StateNotBelieved(
                f"the state branch is not believed: {verdict.why_not}",
                hint=f"name its engine's key in spec.state.writers of {parties.named_by[:12]}, or look at it and let"
                " an operator sign it: gitfed state trust",
            )
        self._tell("the state branch is not believed: what was pushed there is left out", theirs, verdict.why_not)
        return verdict.believed

    def doubts(self, repository: git.Repository, ours: Commit | None) -> bool:
        """Whether what we have was believed when no settings asked for signatures, and they ask for them now.

        A daemon without memory finds the commit that asks for them in the very state that it reads.
        """
        unsure = repository.branch_commit(_UNSURE)
        return unsure is not None and unsure == ours and self._parties().binding

    def is_engines(self, repository: git.Repository, commit: Commit) -> bool:
        """Whether an engine signed it: our own key's, or one that the base names."""
        return not signature.verify(repository.read(commit), self._parties().writers).why_not

    def believes_facts(self, repository: git.Repository, commit: Commit) -> bool:
        """Whether an engine signed this commit of the facts branch."""
        parties = self._parties()
        why = signature.verify(repository.read(commit), parties.writers).why_not
        if not why:
            return True
        if not parties.binding:
            return True
        self._tell("the facts branch is not believed: clusters are looked at anew", commit, f"{commit[:12]} {why}")
        return False

    def _parties(self) -> trust.Parties:
        assert self._newest is not None, "look_from comes first"
        parties = self._source.parties(self._newest)
        own = signature.keyring([self._key.public], lambda path: None)
        return replace(parties, writers=replace(parties.writers, ssh={**parties.writers.ssh, **own.ssh}))

    def _tell(self, what: str, commit: Commit, why: str) -> None:
        if why not in self._told:
            self._told.add(why)
            log.warning(what, extra={"commit": commit[:12], "reason": why})


def judge(
    repository: git.Repository, tip: Commit, last_believed: Commit | None, parties: trust.Parties
) -> StateVerdict:
    """How far the branch up to `tip` counts. `known` was believed before."""
    waiting: list[Commit] = []
    root: Commit | None = None
    why = ""
    for commit in repository.first_parents(tip, limit=_MOST):
        why = "" if commit == last_believed else _why_not_a_root(repository, commit, parties)
        if not why:
            root = commit
            break
        waiting.append(commit)
    if root is None:
        first = _why_not_a_root(repository, tip, parties)
        return StateVerdict(None, f"{tip[:12]} {first}" if first else why)
    for commit in reversed(waiting):
        why = _why_no_order(repository, root, commit, parties)
        if why:
            return StateVerdict(root, f"{commit[:12]} {why}")
        root = commit
    return StateVerdict(root)


def why_no_order(
    repository: git.Repository, before: Commit, commit: Commit, parties: trust.Parties, *, approves: bool
) -> str:
    """Why an order that a person is about to publish on top of `before` would not count; "" where it would.

    Where the settings ask for no signatures everything counts, except approvals where they name approvers: one that
    another person signed is refused here too.
    """
    if parties.binding:
        return judge(repository, commit, before, parties).why_not
    if approves and parties.approvers:
        return signature.verify(repository.read(commit), parties.approvers).why_not
    return ""


def why_not_vouched(repository: git.Repository, commit: Commit, parties: trust.Parties) -> str:
    """Why an order to trust the branch as it is would not count; "" where it would, or needs no signature."""
    return signature.verify(repository.read(commit), parties.operators).why_not if parties.binding else ""


def _why_not_a_root(repository: git.Repository, commit: Commit, parties: trust.Parties) -> str:
    """Why a commit does not count with all before it: only an engine's does, and an operator's order to trust it."""
    raw = repository.read(commit)
    if not signature.split(raw)[1]:
        return "is not signed"
    why = signature.verify(raw, parties.writers).why_not
    if why and trailers.read(repository.info(commit).body).get(state_commits.ORDER) == Order.TRUST:
        return signature.verify(raw, parties.operators).why_not
    return why


def _why_no_order(repository: git.Repository, before: Commit, commit: Commit, parties: trust.Parties) -> str:
    raw = repository.read(commit)
    orders = signature.verify(raw, parties.operators).why_not
    consents = signature.verify(raw, parties.approvers).why_not
    if orders and consents:
        return orders
    changed = repository.differences(before, commit)
    if changed is None:
        return "changes more than an order does"
    members = _changed_members(repository, before, commit) if _STATE in changed else frozenset()
    if members is None:
        return f"leaves no readable {_STATE}"
    if _APPROVALS in members and consents:
        return f"opens gates, and {consents} as one of guards.approvers"
    if wrong := sorted(members - _ORDERS - {_APPROVALS}):
        return f"changes {', '.join(wrong)} in {_STATE}, which only an engine may"
    if wrong := sorted(path for path in changed if path != _STATE and not path.startswith(_EDITED)):
        return f"changes {wrong[0][:80]}, which only an engine may"
    return orders if orders and (members - {_APPROVALS} or changed.keys() - {_STATE}) else ""


def _changed_members(repository: git.Repository, before: Commit, after: Commit) -> frozenset[str] | None:
    """Of state.yaml; None: it cannot be read."""
    try:
        old, new = (_document(repository, commit) for commit in (before, after))
    except (YamlError, errors.SourceError, ValueError):
        return None
    return frozenset(str(name) for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _document(repository: git.Repository, commit: Commit) -> Mapping[str, Any]:
    entry = repository.some(commit, (_STATE,)).get(_STATE)
    documents = yaml.load_all(repository.read(entry.blob_id)) if entry is not None else []
    if len(documents) != 1 or not isinstance(documents[0], Mapping):
        raise ValueError("not one object")
    return documents[0]
