"""Where pull requests are: GitHub, GitLab, Gitea or Forgejo, Bitbucket Cloud.

Two things are said to a forge: one comment on a pull request, edited in place by every later run, and statuses of a
commit, each under a name of its own. What they say is the business of others; here stand the calls, one module for
each forge, and `call`, the only one that speaks HTTP.

A comment is found again by its marker *and* its author: whoever may comment could write the marker, and keep the
right to edit what we then put into their comment.
"""

from __future__ import annotations

from gitfed.edges.forge import bitbucket, gitea, github, gitlab
from gitfed.edges.forge.call import ForgeClient
from gitfed.edges.forge.place import CommitState, CommitStatus, Forge, ForgeProject, Posted, of_url, proposal_page
from gitfed.errors import UsageError

KINDS = ("github", "gitlab", "gitea", "bitbucket")
"""Forgejo speaks Gitea's API."""

__all__ = [
    "KINDS",
    "CommitState",
    "CommitStatus",
    "Forge",
    "ForgeProject",
    "Posted",
    "connect",
    "of_url",
    "proposal_page",
]


def connect(place: ForgeProject, token: str) -> Forge:
    """Nothing is asked yet. Raises UsageError for an address that a token must not be sent to."""
    if not token:
        raise UsageError(f"there is no token for {place.api}", hint="set GITFED_FORGE_TOKEN")
    if place.kind == "github":
        return github.GitHub(ForgeClient(place.api, github.headers(token)), place.project)
    if place.kind == "gitlab":
        return gitlab.GitLab(ForgeClient(place.api, gitlab.headers(token)), place.project)
    if place.kind in ("gitea", "forgejo"):
        return gitea.Gitea(ForgeClient(place.api, gitea.headers(token)), place.project)
    if place.kind == "bitbucket":
        return bitbucket.Bitbucket(ForgeClient(place.api, bitbucket.headers(token)), place.project)
    raise UsageError(f"there is no forge {place.kind!r}", hint=", ".join(KINDS))
