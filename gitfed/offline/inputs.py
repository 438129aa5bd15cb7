"""What a plan is built from, without touching a cluster: a repository, past decisions, facts.

For every input there is an order of sources, the first that is there wins (reference: the command line):

    files       the worktree if asked for, else the commit of `rev`
    decisions   a file, else the state branch (ours or origin's), else none: `state_inputs`
    facts       a file, else the clusters (`daemon.wiring`), else the facts branch, else assumed: `fleet_inputs`

A file that was named and cannot be used is an InputError with its place; a repository that cannot be read is a
SourceError. What is merely missing is not an error, but the plan says what was assumed (`FactsRef.source`).

Everything blocks. The daemon has its own way to commits and facts (`reader`, `cycle`); commands that look without
acting come here.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitfed.edges import files, git
from gitfed.errors import RevisionNotFound, SourceError
from gitfed.interpret.registry import Interpreter
from gitfed.interpret.schema.kubernetes import Kubernetes
from gitfed.model.base import Commit, ObjectKey
from gitfed.model.counting import Count, unheard
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import HeldFile, RepoSnapshot
from gitfed.placement.scheduling import schedule
from gitfed.planning import build
from gitfed.planning.lazy_manifests import LAZILY
from gitfed.planning.objects import secret_leaks
from gitfed.reading import interpreters, kustomized, reader, webhook_cache
from gitfed.source import locate
from gitfed.source import repo as source
from gitfed.source.last_good import Earlier
from gitfed.source.read_cache import ReadCache
from gitfed.source.tree import FileTree
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Opened:
    """A repository ready to read, and what was found out on the way."""

    repository: git.Repository
    name: str
    """As the user named it, without credentials."""
    memory: ReadCache
    """What was parsed; on disk too, so that a second command parses nothing."""
    head: Commit | None
    """What HEAD means; None: nothing was committed yet."""
    root: Path | None = None
    """The checkout; None for a bare repository or a URL."""
    submodules: tuple[str, ...] = ()
    """Prefixes of URLs that submodules may come from; off without."""
    told: dict[str, str] = field(default_factory=dict, compare=False)
    """What is to be said of the branches that were read (`standing`), by branch: a command tells it when it ends."""
    count: Count = field(default=unheard, compare=False)
    """Is told how far the reading and the planning are."""


_LINK = 0o120000


@dataclass(frozen=True, slots=True)
class ReadCommit:
    """One revision, read."""

    repo: RepoSnapshot
    notes: tuple[str, ...] = ()
    tree: Any = field(default=None, compare=False)

    def content(self, path: str) -> bytes | None:
        """The bytes that the snapshot's objects of this file were read from; None of a file held at an older version.

        Raises SourceError.
        """
        if any(held.path == path for held in self.repo.held):
            return None
        blobs = [entry.blob_id for entry in self.tree.entries() if entry.path == path and entry.mode != _LINK]
        return self.tree.read(blobs[0]) if blobs else None


def open_repository(
    name: str,
    *,
    here: Path | None = None,
    credentials: Path | None = None,
    given: str | None = None,
    submodules: Sequence[str] = (),
) -> Opened:
    """The repository of a path or URL; "" means the one around `here` (default: the working directory).

    A URL is fetched into a bare clone under the cache directory, which later calls reuse; `credentials` is the folder
    of what it needs (`git.Access`). `given` is the address that the person named, where `name` stands in a repository:
    files without a `url` of their own are for that one, and go nowhere else. `submodules` are prefixes of URLs that
    submodules may come from. Raises SourceError, SourceUnreachable, UsageError (schemes that Git must not be asked to
    reach).
    """
    opened = _open(name, here, credentials, name if given is None else given)
    return replace(opened, submodules=tuple(submodules)) if submodules else opened


def _open(name: str, here: Path | None, credentials: Path | None, given: str) -> Opened:
    git.forget_hook_environment()
    memory = ReadCache(files.DiskCache(files.cache_directory() / "parse"))
    if git.is_url(name):
        return _clone(name, memory, git.Access(credentials, source=given))
    start = Path(name) if name else here or Path.cwd()
    if not start.exists():
        raise SourceError(f"no such folder: {start}", hint="--repo takes a path or a URL")
    root = git.find_root(start)
    repository = git.Repository.open(root)
    checkout = root if (root / ".git").exists() else None
    try:
        head: Commit | None = repository.resolve("HEAD")
    except RevisionNotFound:
        head = None
    return Opened(repository, str(root), memory, head, checkout)


def _clone(url: str, memory: ReadCache, access: git.Access) -> Opened:
    git.check_url(url)
    path = files.cache_directory() / "repositories" / f"{hashlib.sha256(url.encode()).hexdigest()[:24]}.git"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        repository = git.Repository.open(path) if path.exists() else git.Repository.create(path)
        path.chmod(0o700)  # it holds what the repository holds, Secrets too
    except OSError as error:
        raise SourceError(f"no clone can be made: {path}: {error.strerror}", hint="set XDG_CACHE_HOME") from error
    repository.access = access
    repository.ours = True
    refs = repository.remote_refs(url)
    repository.fetch(url, ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"])
    return Opened(repository, without_credentials(url), memory, refs.get("HEAD"))


def without_credentials(url: str) -> str:
    """The URL as it may be shown."""
    return re.sub(r"(?<=://)[^/@]*@", "", url)


def resolve(opened: Opened, revision: str) -> Commit:
    """The commit of a revision; "" and HEAD mean what the repository's HEAD names. Raises RevisionNotFound."""
    if revision in ("", "HEAD"):
        if opened.head is None:
            raise RevisionNotFound("the repository has no commit yet", hint="commit something, or use --worktree")
        return opened.head
    return opened.repository.resolve(revision)


def read(
    opened: Opened, revision: str = "", *, worktree: bool = False, held: Mapping[str, HeldFile] | None = None
) -> ReadCommit:
    """The snapshot of a revision, or of the files on disk. `held`: files that were held at that time, and where.

    A repository without any commit is read from disk, and that is noted: there is nothing else that could be meant.
    A file with errors is read at the newest older version without (design: held files).
    """
    notes: tuple[str, ...] = ()
    if not worktree and not revision and opened.head is None and opened.root is not None:
        worktree, notes = True, ("nothing is committed yet: reading the files on disk",)
    tree: git.CommitTree | git.WorkTree
    if worktree:
        tree, history = files_on_disk(opened), opened.head
    else:
        history = resolve(opened, revision)
        if opened.submodules:
            git.bring(opened.repository, history, opened.name, opened.submodules)
        tree = opened.repository.tree(history)
    return ReadCommit(read_tree(opened, tree, history, held=held, committed=not worktree), notes, tree)


def files_on_disk(opened: Opened) -> git.WorkTree:
    """Raises SourceError where there are none."""
    if opened.root is None:
        raise SourceError(f"{opened.name} has no worktree", hint="leave out --worktree")
    return git.WorkTree(opened.root)


def read_tree(
    opened: Opened,
    tree: FileTree,
    history: Commit | None,
    *,
    held: Mapping[str, HeldFile] | None = None,
    committed: bool = True,
) -> RepoSnapshot:
    """The snapshot of these files; `history` is where older versions of those with errors are looked for."""
    builds = kustomized.Builds(opened.repository)
    before = history
    if committed and history is not None:
        before = next(itertools.islice(opened.repository.first_parents(history, limit=2), 1, None), None)
    return source.read(
        tree,
        memory=opened.memory,
        earlier=Earlier(
            held or {},
            reader.last_good(opened.repository, opened.memory, history, committed=committed, builds=builds),
            reader.at(before, builds),
            reader.below(before, builds),
            builds.read_held,
        ),
        build=builds.build,
        count=opened.count,
    )


def default_base(opened: Opened, head: Commit) -> Commit:
    """Where `head` left the default branch, as its upstream has it. Raises RevisionNotFound when there is none, or they
    have no common history."""
    ref = opened.repository.default_branch()
    tip = opened.repository.branch_commit(ref) if ref else None
    if ref is None or tip is None:
        raise RevisionNotFound(
            "no commit to compare with: there is no remote, and no branch main or master", hint="name one: BASE..HEAD"
        )
    base = opened.repository.merge_base(tip, head)
    if base is None:
        branch = ref.removeprefix("refs/heads/").removeprefix("refs/remotes/")
        raise RevisionNotFound(
            f"no commit to compare with: {head[:12]} has no common history with {branch}", hint="name one: BASE..HEAD"
        )
    return base


# -- the plan ---------------------------------------------------------------------------------------------------


def plan(
    opened: Opened,
    repo: RepoSnapshot,
    snapshot: FleetSnapshot,
    past: Decisions,
    now: datetime | None = None,
    kubernetes: Kubernetes | None = None,
) -> Plan:
    """`planning.build.build` with the interpreter of this commit and the present time, problems at their lines.

    Nothing that the commit names is contacted: what its webhooks say is what they said when past decisions were taken.
    `kubernetes`: as of `interpreters.of`.
    """
    when = now or datetime.now(UTC)
    interpreter = interpreters.of(repo, webhook_cache.recorded(past.answers), kubernetes=kubernetes)
    memo = build.Memo(count=opened.count)
    made = build.build(repo, snapshot, past, interpreter, when, memo)
    return secret_leaks.masked(located(opened, repo, replace(made, base=past.applied_commit)))


def turn_of(
    repo: RepoSnapshot, snapshot: FleetSnapshot, past: Decisions, key: ObjectKey, now: datetime | None = None
) -> schedule.Turn | None:
    """What was asked for a template when its turn came in `plan`, and the room that others had left it; None: it had no
    turn, for nothing about it depends on others. Plans once more."""
    memo = build.Memo(rendering=LAZILY)
    memo.room.watched = key
    build.build(repo, snapshot, past, interpreter_of(repo, past), now or datetime.now(UTC), memo)
    return memo.room.turn


def interpreter_of(repo: RepoSnapshot, past: Decisions) -> Interpreter:
    """What knows the kinds of one commit, for a look without consequences."""
    return interpreters.of(repo, webhook_cache.recorded(past.answers))


def located(opened: Opened, repo: RepoSnapshot, made: Plan) -> Plan:
    """The plan with its problems at the lines of the fields that they name."""
    if not any(problem.path for problem in made.problems):
        return made
    tree = opened.repository.tree(repo.commit) if repo.commit else files_on_disk(opened)
    held = {file.path for file in repo.held}
    blobs = {entry.path: entry.blob_id for entry in tree.entries() if entry.mode != _LINK}

    def content(path: str) -> bytes | None:
        return tree.read(blobs[path]) if path in blobs and path not in held else None

    return replace(made, problems=tuple(sorted(locate.problems(made.problems, content))))


def after(result: Plan, past: Decisions) -> Decisions:
    """The decisions as they would stand once a plan was recorded: what the next commit would be planned from.

    Those of templates that are gone stay where copies may have stayed: a policy said so, or the plan's commit has been
    rolled out already and they are remembered all the same (`gate.decisions_to_record`).
    """
    done = past.known and bool(result.commit) and past.applied_commit == result.commit
    gone = {key: decision for key, decision in past.bindings.items() if key not in result.bindings}
    decided = {
        key: decision
        for key, decision in gone.items()
        if done or decision.ownership.preserve or decision.ownership.kept
    }
    decided |= {key: binding.decision for key, binding in result.bindings.items() if binding.decision is not None}
    return replace(past, bindings=decided, descends=True)
