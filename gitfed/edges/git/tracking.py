"""A branch that a repository may have twice: as its own, and as it was fetched from a remote.

A clone has `refs/remotes/origin/B` and no branch B. A clone where `git fetch origin B:B` was run has both, and from
then on a plain fetch moves only the first. One definition for every command that reads such a branch (`standing`): the
newer of the two counts; where each has commits that the other lacks, what the remote has. And one for every command
that writes it (`home`): it is written where the daemon reads it, or not at all.
"""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime
from pathlib import Path

from gitfed.edges.git import location
from gitfed.edges.git.repository import Repository
from gitfed.errors import SourceError, SourceUnreachable, StateError
from gitfed.model.base import Commit
from gitfed.text.values import dataclass

_REMOTE = "origin"
_LOGGED = re.compile(r"> (\d+) [+-]\d{4}\t")


@dataclass(frozen=True, slots=True)
class BranchStanding:
    """Where a branch stands. `commit` None: there is none."""

    commit: Commit | None
    tracking: str = ""
    """`origin/gitfed/state` if what the remote has counts."""
    fetched: datetime | None = None
    """When that was fetched, as far as Git remembers."""
    behind: bool = False
    """Whether the repository's own branch of this name is older, and not used."""
    ahead: bool = False
    """Whether the repository's own branch counts, and has more than was fetched from the remote."""
    apart: bool = False
    """Whether each of the two has commits that the other lacks."""


def standing(
    repository: Repository, branch: str, *, url: str | None = None, begins_anew: bool = False
) -> BranchStanding:
    """Which commit is meant by a branch that gitfed writes. Nothing is fetched.

    `url`: where it lives, if that is said elsewhere than by the remote `origin`. `begins_anew`: a branch whose history
    is cut off now and then, so that the later of two commits is the newer one.
    """
    own = repository.branch_commit(branch)
    fetched = repository.branch_commit(tracking_ref(branch)) if _is_of(repository, url) else None
    if fetched is None:
        return BranchStanding(own)
    tracking = BranchStanding(fetched, f"{_REMOTE}/{branch}", _fetched_at(repository, branch))
    if own is None or own == fetched:
        return tracking
    behind, ahead = repository.is_ancestor(own, fetched), repository.is_ancestor(fetched, own)
    if not (behind or ahead) and begins_anew:
        behind = repository.info(own).when <= repository.info(fetched).when
        ahead = not behind
    if ahead:
        return BranchStanding(own, ahead=True)
    return BranchStanding(fetched, tracking.tracking, tracking.fetched, behind=behind, apart=not behind)


def home(repository: Repository, name: str, branch: str, *, url: str | None = None) -> str:
    """The repository, path or URL, where a branch is to be written; what it has there was fetched then.

    `name` is what `repository` was opened by. A checkout writes to its origin, if that has the branch; a bare
    repository holds it itself, unless it is a mirror. Raises SourceUnreachable when origin cannot be asked, StateError
    when both have decisions of their own.
    """
    if url is not None or location.is_url(name):
        return url or name
    origin = remote_address(repository)
    if origin is None or (_is_bare(repository) and not _is_mirror(repository)):
        return name
    ref, tracking = f"refs/heads/{branch}", tracking_ref(branch)
    own, tracked = repository.branch_commit(ref), repository.branch_commit(tracking)
    try:
        theirs = repository.remote_refs(origin, ref).get(ref)
        if theirs is not None and theirs != tracked:
            repository.fetch(origin, [f"+{ref}:{tracking}"])
    except SourceError as error:
        if own is not None and tracked is None:
            return name  # when origin was fetched last, it had none
        raise SourceUnreachable(
            f"{_REMOTE} cannot be asked for its branch {branch}, and without it nothing is decided: {error.message}",
            hint=f"git fetch {_REMOTE} shows what is wrong",
        ) from error
    if theirs is None:
        if tracked is not None and own is None:
            raise StateError(
                f"{_REMOTE} has no branch {branch} any more, which was fetched from there: what was decided is lost",
                hint=f"git push {_REMOTE} {tracking}:{ref} brings it back; git fetch --prune {_REMOTE} forgets it",
            )
        return name
    if own is None or own == theirs or repository.is_ancestor(own, theirs):
        return origin
    relation = "has commits that origin's lacks" if repository.is_ancestor(theirs, own) else "and origin's have parted"
    raise StateError(
        f"the branch {branch} of this repository {relation}: which decisions count is for a person to say",
        hint=f"git push {_REMOTE} {branch} if they do, git branch -D {branch} if they do not",
    )


def pushed(repository: Repository, clone: Path, branch: str) -> None:
    """`clone` has pushed the branch to the origin of `repository`: there it is remembered as after a `git push`.

    Nothing is raised: it is a courtesy to the next reader, and the next fetch brings the same.
    """
    with contextlib.suppress(SourceError):
        repository.fetch(str(clone), [f"+refs/heads/{branch}:{tracking_ref(branch)}"])


def remote_address(repository: Repository) -> str | None:
    """URL or full path of the remote `origin`; None: there is none."""
    address = repository.remote_url(_REMOTE)
    if address is None or location.is_url(address):
        return address
    return str((repository.path / address).resolve())


def tracking_ref(branch: str) -> str:
    return f"refs/remotes/{_REMOTE}/{branch}"


def _is_of(repository: Repository, url: str | None) -> bool:
    """Whether what was fetched from origin is the branch that lives at `url`."""
    return url is None or remote_address(repository) == url


def is_in_checkout_alone(repository: Repository, branch: str) -> bool:
    """Whether a checkout has a branch that its remote was never seen to have: a reader of the remote does not find
    it."""
    return (
        repository.remote_url(_REMOTE) is not None
        and not _is_bare(repository)
        and repository.branch_commit(branch) is not None
        and repository.branch_commit(tracking_ref(branch)) is None
    )


def _is_bare(repository: Repository) -> bool:
    return repository.text("rev-parse", "--is-bare-repository") == "true"


def _is_mirror(repository: Repository) -> bool:
    try:
        return repository.text("config", "--type=bool", "--get", f"remote.{_REMOTE}.mirror") == "true"
    except SourceError:
        return False


def _fetched_at(repository: Repository, branch: str) -> datetime | None:
    """The newest trace of a fetch: FETCH_HEAD if it names the branch, the log of its ref, and that of the clone."""
    names = ("FETCH_HEAD", f"logs/{tracking_ref(branch)}", f"logs/refs/remotes/{_REMOTE}/HEAD")
    try:
        paths = repository.text("rev-parse", *(part for name in names for part in ("--git-path", name))).splitlines()
    except SourceError:
        return None
    head, *logs = (repository.path / path for path in paths)
    times = [_last_logged(log) for log in logs]
    with contextlib.suppress(OSError):
        if f"branch '{branch}' of " in head.read_text(encoding="utf-8", errors="replace"):
            times.append(head.stat().st_mtime)
    dated = [time for time in times if time is not None]
    return datetime.fromtimestamp(max(dated), UTC) if dated else None


def _last_logged(path: Path) -> float | None:
    with contextlib.suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        if lines and (match := _LOGGED.search(lines[-1])):
            return float(match[1])
    return None
