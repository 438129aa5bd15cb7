"""Orders of a person to a running daemon, given through the state branch: no port, no password, and an audit trail.

Whoever may push the state branch may give them; where the repository asks for signatures, they count if one of its
operators signed them (`reading.state_trust`), as Git is set up to sign for the person. The daemon sees that the branch
moved, reads it again and plans anew; if both write at the same time, one of the pushes is refused and that one looks
again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from gitfed.documents import bindings
from gitfed.edges import git
from gitfed.edges.git import user_signing
from gitfed.edges.state import state as state_edge
from gitfed.errors import StateConflict, StateError
from gitfed.model.base import ClusterName, Commit
from gitfed.model.orders import Removal, Suspension
from gitfed.model.repo import RepoSnapshot
from gitfed.offline.inputs import Opened, open_repository
from gitfed.reading.state_trust import TRUST

_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Orders:
    """All orders that stand."""

    suspensions: tuple[Suspension, ...]
    removals: tuple[Removal, ...]


def change(
    opened: Opened,
    repo: RepoSnapshot,
    edit: Callable[[Orders], Orders],
    *,
    subject: str,
    reason: str,
    now: datetime,
    credentials: Path | None = None,
) -> Orders:
    """Write the orders that `edit` makes of those that stand; what stands after.

    Raises StateError when nothing was ever decided here, StateConflict when others are always faster, and SourceError
    when the branch cannot be pushed.
    """
    sign = _signer(opened, repo)
    for _ in range(_ATTEMPTS):
        branch, url = _branch(opened, repo, credentials, sign)
        expected = branch.pull(url) if url else None
        state = branch.read()
        if state.commit is None or not state.decisions.known:
            name = repo.settings.spec.state.branch
            if state.commit is not None:
                raise StateError(
                    f"nothing was decided, as far as {name} tells: no order is written to it",
                    hint=f"git log {name} shows what was put there; gitfed run or gitfed apply decides anew",
                )
            raise StateError(
                f"there is no branch {name} to write an order to",
                hint="the first gitfed run or gitfed apply makes it; a daemon that may not push keeps it to itself",
            )
        before = Orders(state.decisions.suspensions, state.decisions.removals)
        after = edit(before)
        if after == before:
            return after
        try:
            written = replace(state.decisions, suspensions=after.suspensions, removals=after.removals)
            reasons = (reason,) if reason else ()
            branch.write(state, replace(state, decisions=written), subject=subject, reasons=reasons, now=now)
            if url:
                branch.push(url, expected=expected)
        except StateConflict:
            continue
        _remember(opened, repo, branch)
        return after
    raise StateConflict("the state branch is written all the time by somebody else", hint="try again")


def forget(
    opened: Opened, repo: RepoSnapshot, cluster: ClusterName, *, now: datetime, credentials: Path | None = None
) -> None:
    """A cluster was cleaned up: what it held is not reported any more. Nothing is done where no state tells of it.

    Raises StateConflict and SourceError like `change`.
    """
    sign = _signer(opened, repo)
    for _ in range(_ATTEMPTS):
        branch, url = _branch(opened, repo, credentials, sign)
        expected = branch.pull(url) if url else None
        state = branch.read()
        if state.commit is None or cluster not in state.results:
            return
        left = {name: known for name, known in state.results.items() if name != cluster}
        try:
            branch.write(state, replace(state, results=left), subject=f"{cluster} left the fleet", now=now)
            if url:
                branch.push(url, expected=expected)
        except StateConflict:
            continue
        _remember(opened, repo, branch)
        return
    raise StateConflict("the state branch is written all the time by somebody else", hint="try again")


def _remember(opened: Opened, repo: RepoSnapshot, branch: state_edge.StateBranch) -> None:
    """The checkout has what was just pushed to its origin."""
    if branch.repository is not opened.repository and repo.settings.spec.state.url is None:
        git.tracking.pushed(opened.repository, branch.repository.path, repo.settings.spec.state.branch)


def vouch(opened: Opened, repo: RepoSnapshot, *, by: str, now: datetime, credentials: Path | None = None) -> Commit:
    """Sign the branch as it is: daemons believe it from then on. The commit that does so.

    Raises StateError where there is no branch, StateConflict and SourceError like `change`.
    """
    sign = user_signing.of_person(opened.repository.path, needed=True)
    for _ in range(_ATTEMPTS):
        branch, url = _branch(opened, repo, credentials, sign)
        expected = branch.pull(url) if url else None
        head = branch.head()
        if head is None:
            raise StateError(f"there is no branch {repo.settings.spec.state.branch} to trust")
        message = f"Trust the state as it is [skip ci]\n\nby {by}\n\n{TRUST}\n"
        try:
            made = branch.repository.commit_files(branch.ref, {}, message, parent=head, when=now, sign=sign)
            if url:
                branch.push(url, expected=expected)
        except StateConflict:
            continue
        _remember(opened, repo, branch)
        return made
    raise StateConflict("the state branch is written all the time by somebody else", hint="try again")


def _signer(opened: Opened, repo: RepoSnapshot) -> Callable[[bytes], bytes] | None:
    needed = repo.settings.spec.sources.verify.commits != "none"
    return user_signing.of_person(opened.repository.path, needed=needed)


def _branch(
    opened: Opened, repo: RepoSnapshot, credentials: Path | None, sign: Callable[[bytes], bytes] | None
) -> tuple[state_edge.StateBranch, str | None]:
    """The branch that the daemon follows, and where to push it; None: it is written where it lies.

    A bare repository holds it itself. A checkout knows it from its origin: then it is written in a clone of our own, so
    that no branch appears in somebody's working copy (`git.tracking.home`).
    """
    settings = repo.settings.spec.state
    given = opened.name
    if not git.is_url(given):
        given = git.tracking.remote_address(opened.repository) or ""
        opened.repository.access = git.Access(credentials, source=given)
    url = git.tracking.home(opened.repository, opened.name, settings.branch, url=settings.url)
    if url != opened.name:
        # `spec.state.url` stands in the repository: it does not say whom the credentials are for.
        opened = open_repository(url, credentials=credentials, given=given)
    branch = state_edge.StateBranch(opened.repository, bindings, branch=settings.branch, sign=sign)
    return branch, url if git.is_url(url) else None
