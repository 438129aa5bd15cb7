"""What the state branch says for a look without consequences: past decisions, and which commits a daemon would take.

A file of decisions that a person names comes before the branch (`inputs` has the order of all sources).
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gitfed.documents import bindings
from gitfed.edges import files, git
from gitfed.edges.state import state as state_edge
from gitfed.errors import SourceError
from gitfed.model.base import Body, ClusterName, Commit, ObjectKey
from gitfed.model.decisions import Decisions
from gitfed.model.declared.federation import Federation
from gitfed.model.fleet import InventoryEntry, LiveState
from gitfed.model.operator_orders import Approval
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import input_files, inputs, state_signatures
from gitfed.offline.inputs import Opened
from gitfed.planning import rebuild
from gitfed.reading import effective_guards, reader, trust
from gitfed.text import moment


def decisions(
    opened: Opened, repo: RepoSnapshot, path: Path | None = None, only: Collection[ObjectKey] | None = None
) -> Decisions:
    """Past decisions: of the file if given, else of the state branch, else none. `only`: those for these templates.

    What webhooks answered always comes from the state branch: no file can hold it. Raises InputError for the file,
    StateTooNew for a state branch of a newer gitfed.
    """
    if path is not None:
        return replace(input_files.decisions(path), answers=recorded_answers(opened, repo))
    past = _state(opened, repo, only).decisions
    if past.applied_commit is None or not repo.commit:
        return past
    descends = opened.repository.is_ancestor(past.applied_commit, repo.commit)
    guards = effective_guards.in_force(past, repo.commit, lambda commit: settings_at(opened, commit).spec.guards)
    approvals = (*past.approvals, *_granted(opened, repo, past.limits or past.applied_commit))
    return replace(past, descends=descends, guards=guards, approvals=approvals)


def state_commit(opened: Opened, repo: RepoSnapshot) -> Commit | None:
    """Where the state branch stands whose decisions `decisions` reads; None: there is none."""
    return standing(opened, repo).commit


def standing(opened: Opened, repo: RepoSnapshot, *, facts: bool = False) -> git.tracking.BranchStanding:
    """Which commit of the state branch is meant, or of the facts branch, for every command that looks.

    What a person should know of it is put into `opened.told`.
    """
    spec = repo.settings.spec.state
    branch = spec.facts_branch if facts else spec.branch
    standing = git.tracking.standing(opened.repository, branch, url=spec.url, begins_anew=facts)
    opened.told.setdefault(branch, _told(standing, branch))
    if standing.commit is not None and f"{branch} signed" not in opened.told:
        settings_of = functools.partial(settings_at, opened)
        why = state_signatures.why_doubtful(opened.repository, repo, standing.commit, settings_of)
        text = f"{branch} is shown as it is, and a daemon would not believe it: {why}" if why else ""
        opened.told[f"{branch} signed"] = text
    return standing


def _told(standing: git.tracking.BranchStanding, branch: str) -> str:
    if standing.ahead:
        return f"{branch} of this repository is newer than what was fetched from origin"
    if not standing.tracking:
        return ""
    when = standing.fetched
    text = f"{branch} is read as it was fetched from origin"
    if when is not None:
        text += f" {moment.ago(when, datetime.now(UTC))} (at {when:%Y-%m-%dT%H:%M:%SZ})"
    if standing.behind:
        return f"{text}; the branch of that name in this repository is older, and is not read"
    if standing.apart:
        return (
            f"{text}; the branch of that name in this repository has other commits, which do not count: push it, or "
            f"remove it (git branch -D {branch})"
        )
    return text


def _state(opened: Opened, repo: RepoSnapshot, only: Collection[ObjectKey] | None = None) -> state_edge.BranchState:
    cache = files.DiskCache(files.cache_directory() / "state")
    branch = state_edge.StateBranch(opened.repository, bindings, branch=repo.settings.spec.state.branch, cache=cache)
    commit = standing(opened, repo).commit
    return state_edge.BranchState(None, Decisions(known=False)) if commit is None else branch.at(commit, only)


def recorded_answers(opened: Opened, repo: RepoSnapshot) -> Mapping[str, Body]:
    """What webhooks answered, by digest of the question; the state branch is only read if the commit has webhooks.

    Raises StateTooNew.
    """
    if not repo.webhooks:
        return {}
    return _state(opened, repo).decisions.answers


def _granted(opened: Opened, repo: RepoSnapshot, applied: Commit) -> tuple[Approval, ...]:
    """What the commit's own trailer lets through, if an approver of the last applied commit signed it."""
    if repo.commit == applied:
        return ()
    judge = trust.Trust(opened.repository, functools.partial(settings_at, opened))
    try:
        return judge.approvals(repo.commit, applied)[0]
    except SourceError:
        return ()  # the applied commit is not in this clone: the gates hold, as they would without a trailer


def refused(opened: Opened, repo: RepoSnapshot, past: Decisions, otherwise: Commit | None = None) -> str:
    """Why a daemon would not act upon this commit: it is not signed as the last applied one demands. "": it would.

    `otherwise`: what counts for the last applied one where none is known.
    """
    applied = past.applied_commit or otherwise
    if applied is None or not repo.commit or repo.commit == applied:
        return ""
    judge = trust.Trust(opened.repository, functools.partial(settings_at, opened))
    judge.begin_at(applied, past.signatures if past.applied_commit else "")
    try:
        return judge.why_not(repo.commit)
    except SourceError:
        return ""  # as above: here it cannot be told


def settings_at(opened: Opened, commit: Commit) -> Federation:
    """The Federation of a commit. Raises SourceError."""
    return reader.settings_at(opened.repository, opened.memory, commit, lambda: inputs.read(opened, commit).repo)


def without_state(past: Decisions, live: LiveState | None, repo: RepoSnapshot) -> Decisions:
    """Decisions when there is no state branch: what the clusters' inventories say, as the daemon would rebuild them.

    Without a look at the clusters there is nothing to go by, and nothing is known to have been decided. While an
    inventory that may hold something cannot be read, the state stays unknown: the plan then moves nothing.
    """
    if past.known or live is None:
        return replace(past, known=True)
    entries: dict[ClusterName, list[InventoryEntry]] = {}
    for copies in live.objects.values():
        for name, seen in copies.items():
            if seen.entry is not None:
                entries.setdefault(name, []).append(seen.entry)
    if not entries and not any(cluster.repository_id for cluster in live.clusters.values()):
        return replace(past, known=True)
    if not all(cluster.inventory_read for cluster in live.clusters.values()):
        return past
    versions = {key: manifest.api_version for key, manifest in repo.manifests.items()}
    return replace(past, bindings=rebuild.decisions(entries.items(), versions), known=True)
