"""Writing to the state branch for a person: no port, no password, and an audit trail.

A person who may push the state branch may give orders; where the repository asks for signatures, they count if one of
its operators signed them (`reading.state_trust`), as Git is set up to sign for the person. An order that would not
count is refused here, before it is pushed. The daemon sees that the branch moved, reads it and plans again; if both
write at the same time, one of the pushes is refused, and its sender reads the branch again.

Which orders there are, and what each of them writes, stands in `orders`.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from gitfed.documents import bindings, state_commits
from gitfed.documents.state_commits import Message, Order
from gitfed.edges import git
from gitfed.edges.backoff import Backoff
from gitfed.edges.git import user_signing
from gitfed.edges.state import state as state_edge
from gitfed.edges.state.file import CLEANED
from gitfed.errors import InputError, StateConflict, StateError
from gitfed.model.base import ClusterName, Commit
from gitfed.model.decisions import Decisions
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import inputs, state_inputs
from gitfed.offline.inputs import Opened, open_repository
from gitfed.reading import state_trust, trust
from gitfed.text.values import dataclass

_ATTEMPTS = 5
_PATIENCE = 15.0
"""Seconds in which it is tried again and again, `_ATTEMPTS` times at least, when others are faster: a daemon that has
much to do writes several times a second."""
_BETWEEN = Backoff((0.02, 0.05, 0.1, 0.2, 0.4), fewer=0.5, more=0.5)
_POLL = 1.0
"""Seconds between two looks at what became of an order."""


@dataclass(frozen=True, slots=True)
class OrderBook:
    """Where orders are written, and who signs them."""

    opened: Opened
    repo: RepoSnapshot
    credentials: Path | None = None
    """Folder of what the repository's server needs."""
    sign: Callable[[bytes], bytes] | None = None
    """Of an engine that passes on what it was told; None: the person signs, as Git is set up."""


def change(
    book: OrderBook,
    edit: Callable[[Decisions], Decisions],
    *,
    message: Message,
    now: datetime,
) -> state_edge.BranchState:
    """Write what `edit` makes of the decisions that stand; the state as it stands after.

    Raises StateError when nothing was ever decided here, InputError when the order would not count for who signs it,
    StateConflict when others are always faster, and SourceError when the branch cannot be pushed.
    """
    for _ in _attempts():
        branch, url = _branch(book)
        expected = branch.pull(url) if url else None
        state = _decided(book, branch)
        after = edit(state.decisions)
        if after == state.decisions:
            return state
        approves = after.approvals != state.decisions.approvals
        branch = branch.signing(_signer(book, state.decisions, approves=approves))
        try:
            made = branch.write(state, replace(state, decisions=after), message, now=now, draft=True)
            if made.commit == state.commit:
                return state
            assert made.commit is not None
            _check(book, branch, state, made.commit, approves=approves)
            branch.publish(state, made.commit)
            if url:
                branch.push(url, expected=expected)
        except StateConflict:
            continue
        finally:
            branch.discard()
        _remember(book.opened, book.repo, branch)
        return made
    raise AssertionError("the last attempt returns or raises")


def _attempts() -> Iterator[None]:
    """Another one each time that somebody else was faster. Raises StateConflict when that goes on and on."""
    end = time.monotonic() + _PATIENCE
    for failures in itertools.count(1):
        yield
        if failures >= _ATTEMPTS and time.monotonic() >= end:
            raise StateConflict("another writer changes the state branch all the time", hint="try again")
        time.sleep(_BETWEEN.after(failures))


def look(book: OrderBook) -> state_edge.BranchState:
    """The state as it stands where the daemon writes it. Raises what `change` raises."""
    branch, url = _branch(book)
    if url:
        branch.pull(url)
    return _decided(book, branch)


def looks(book: OrderBook, seconds: float) -> Iterator[state_edge.BranchState]:
    """The state, again and again until the time is over: what became of an order."""
    end = time.monotonic() + seconds
    branch, url = _branch(book)
    while True:
        if url:
            branch.pull(url)
        yield _decided(book, branch)
        if time.monotonic() >= end:
            return
        time.sleep(_POLL)


def _decided(book: OrderBook, branch: state_edge.StateBranch) -> state_edge.BranchState:
    state = branch.read()
    name = book.repo.settings.spec.state.branch
    if state.commit is None:
        raise StateError(
            f"there is no branch {name} to write an order to",
            hint="the first gitfed run or gitfed apply makes it; a daemon that may not push keeps it to itself",
        )
    if not state.decisions.known:
        raise StateError(
            f"nothing was decided, as far as {name} tells: no order is written to it",
            hint=f"git log {name} shows what was put there; gitfed run or gitfed apply decides anew",
        )
    return state


def _check(
    book: OrderBook, branch: state_edge.StateBranch, before: state_edge.BranchState, commit: Commit, *, approves: bool
) -> None:
    """Raise InputError where a daemon would leave this order out."""
    if book.sign is not None or before.commit is None:
        return  # an engine's key; the daemon tells whether it is one of its own
    parties = _parties(book, before.decisions)
    why = state_trust.why_no_order(branch.repository, before.commit, commit, parties, approves=approves)
    if why:
        who = "spec.guards.approvers" if approves else "spec.guards.operators"
        raise InputError(
            f"this order would not count: it {why.removeprefix(commit[:12]).strip()}",
            hint=f"{parties.named_by[:12]} says in {who} whose does; git config user.signingKey is yours",
        )


def forget(book: OrderBook, cluster: ClusterName, *, now: datetime, cleaned: bool) -> None:
    """A cluster has left: what it held is not reported any more. Nothing is done where no state tells of it.

    `cleaned`: its objects are deleted. Decisions go on naming the cluster until the next engine has decided, those of
    orphans for longer, and tell of no copy there. Raises StateConflict and SourceError like `change`.
    """
    of_it = {cluster: {"outcome": CLEANED}} if cleaned else {}
    sign = _signer(book, None)
    message = state_commits.ordered(Order.FORGET, f"{cluster} left the fleet")
    for _ in _attempts():
        branch, url = _branch(book)
        branch = branch.signing(sign)
        expected = branch.pull(url) if url else None
        state = branch.read()
        left = {name: result for name, result in state.results.items() if name != cluster} | of_it
        if state.commit is None or left == state.results:
            return
        try:
            branch.write(state, replace(state, results=left), message, now=now)
            if url:
                branch.push(url, expected=expected)
        except StateConflict:
            continue
        _remember(book.opened, book.repo, branch)
        return
    raise AssertionError("the last attempt returns or raises")


def _remember(opened: Opened, repo: RepoSnapshot, branch: state_edge.StateBranch) -> None:
    """The checkout has what was just pushed to its origin."""
    if branch.repository is not opened.repository and repo.settings.spec.state.url is None:
        git.tracking.pushed(opened.repository, branch.repository.path, repo.settings.spec.state.branch)


def vouch(book: OrderBook, *, by: str, now: datetime) -> Commit:
    """Sign the branch as it is: daemons believe it from then on. The commit that does so.

    Raises StateError where there is no branch, InputError where who signs is no operator, StateConflict and SourceError
    like `change`.
    """
    sign = user_signing.of_person(book.opened.repository.path, needed=True)
    for _ in _attempts():
        branch, url = _branch(book)
        branch = branch.signing(sign)
        expected = branch.pull(url) if url else None
        head = branch.head()
        if head is None:
            raise StateError(f"there is no branch {book.repo.settings.spec.state.branch} to trust")
        message = state_commits.ordered(Order.TRUST, "Trust the state as it is", f"by {by}")
        try:
            made = branch.draft(message, head, now)
            _check_vouched(book, branch, made)
            branch.publish(state_edge.BranchState(head, Decisions()), made)
            if url:
                branch.push(url, expected=expected)
        except StateConflict:
            continue
        finally:
            branch.discard()
        _remember(book.opened, book.repo, branch)
        return made
    raise AssertionError("the last attempt returns or raises")


def begin(book: OrderBook, decisions: Decisions, *, source: str, by: str, now: datetime) -> state_edge.BranchState:
    """Make the branch, with decisions that were taken elsewhere: the first plan starts from them.

    Raises StateError where there is a branch already, which says what is decided; InputError where who signs is no
    operator; StateConflict and SourceError like `change`.
    """
    branch, url = _branch(book)
    expected = branch.pull(url) if url else None
    before = branch.read()
    name = book.repo.settings.spec.state.branch
    if before.commit is not None:
        raise StateError(
            f"there is a branch {name} already: it says what is decided",
            hint=f"git log {name} shows it; where nothing is rolled out yet, delete it and begin anew",
        )
    branch = branch.signing(_signer(book, None))
    begun = replace(decisions, repository_id=state_edge.new_repository_id(), known=True)
    message = state_commits.ordered(Order.TRUST, f"Begin with the decisions of {source}", f"by {by}")
    try:
        made = branch.write(before, replace(before, decisions=begun), message, now=now, draft=True)
        assert made.commit is not None
        _check_vouched(book, branch, made.commit)
        branch.publish(before, made.commit)
        if url:
            branch.push(url, expected=expected)
    finally:
        branch.discard()
    _remember(book.opened, book.repo, branch)
    return made


def _check_vouched(book: OrderBook, branch: state_edge.StateBranch, made: Commit) -> None:
    """Raise InputError where a daemon would not believe the branch for who signed this commit of it."""
    # The state says nothing of who counts: it is what is in question.
    parties = _parties(book, Decisions())
    if why := state_trust.why_not_vouched(branch.repository, made, parties):
        raise InputError(
            f"this would not count: it {why}",
            hint=f"{parties.named_by[:12]} says in spec.guards.operators, or sources.verify.keys, whose does",
        )


def _signer(book: OrderBook, past: Decisions | None, *, approves: bool = False) -> Callable[[bytes], bytes] | None:
    """What signs for the person; None where nobody signs, and nobody asks for it."""
    if book.sign is not None:
        return book.sign
    needed = book.repo.settings.spec.sources.verify.commits != "none"
    if approves and past is not None:
        needed = needed or bool(_parties(book, past).approvers)
    return user_signing.of_person(book.opened.repository.path, needed=needed)


def _parties(book: OrderBook, past: Decisions) -> trust.Parties:
    """Whose orders count, as the last applied commit says where it is at hand."""
    judge = trust.Trust(book.opened.repository, functools.partial(state_inputs.settings_at, book.opened))
    judge.begin_at(past.applied_commit, past.signatures)
    return judge.parties(book.repo.commit or inputs.resolve(book.opened, ""))


def _branch(book: OrderBook) -> tuple[state_edge.StateBranch, str | None]:
    """The branch that the daemon follows, and where to push it; None: it is written where it lies.

    A bare repository holds it itself. A checkout knows it from its origin: then it is written in a clone of our own, so
    that no branch appears in somebody's working copy (`git.tracking.home`).
    """
    settings, opened = book.repo.settings.spec.state, book.opened
    given = opened.name
    if not git.is_url(given):
        given = git.tracking.remote_address(opened.repository) or ""
        opened.repository.access = git.Access(book.credentials, source=given)
    url = git.tracking.home(opened.repository, opened.name, settings.branch, url=settings.url)
    if url != opened.name:
        # `spec.state.url` stands in the repository: it does not say whom the credentials are for.
        opened = open_repository(url, credentials=book.credentials, given=given)
    branch = state_edge.StateBranch(opened.repository, bindings, branch=settings.branch)
    return branch, url if git.is_url(url) else None
