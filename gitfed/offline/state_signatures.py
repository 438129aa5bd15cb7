"""What a command that only looks can say of who wrote the state that it reads.

It does not know the daemon's own key, which is named nowhere as long as there is one engine; so it cannot judge as the
daemon does (`reading.state_trust`). What it can tell are commits that no daemon of a repository which asks for
signatures would believe: unsigned ones, and where engines are named, those of strangers.
"""

from __future__ import annotations

from collections.abc import Callable

from gitfed.edges import git
from gitfed.edges.git import signature
from gitfed.errors import SourceError
from gitfed.model.base import Commit
from gitfed.model.declared.federation import Federation
from gitfed.model.repo import RepoSnapshot
from gitfed.reading import trust


def why_doubtful(
    repository: git.Repository, repo: RepoSnapshot, commit: Commit, settings_of: Callable[[Commit], Federation]
) -> str:
    """Why a daemon would leave this commit of the state or facts branch out; "" where nothing speaks against it."""
    spec = repo.settings.spec
    if spec.sources.verify.commits == "none" or not repo.commit:
        return ""
    try:
        raw = repository.read(commit)
        if not signature.split(raw)[1]:
            return f"{commit[:12]} is not signed"
        if not spec.state.writers:
            return ""
        parties = trust.Trust(repository, settings_of).parties(repo.commit)
        said = [signature.verify(raw, keys).why_not for keys in (parties.writers, parties.operators, parties.approvers)]
        return f"{commit[:12]} {said[0]}" if all(said) else ""
    except SourceError:
        return ""  # the commit that says who counts is not in this clone
