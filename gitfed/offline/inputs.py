"""What a plan is built from, without touching a cluster: a repository, past decisions, facts.

For every input there is an order of sources, the first that is there wins (reference: the command line):

    files       the worktree if asked for, else the commit of `rev`
    decisions   a file, else the state branch (ours or origin's), else none
    facts       a file, else the clusters (`daemon.wiring`), else the facts branch, else assumed

A file that was named and cannot be used is an InputError with its place; a repository that cannot be read is a
SourceError. What is merely missing is not an error, but the plan says what was assumed (`FactsRef.source`).

Everything blocks. The daemon has its own way to commits and facts (`reader`, `cycle`); commands that look without
acting come here.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitfed.documents import bindings, facts
from gitfed.edges import files, git
from gitfed.edges.state import memory
from gitfed.edges.state import state as state_edge
from gitfed.errors import RevisionNotFound, SourceError
from gitfed.interpret.registry import Interpreter
from gitfed.interpret.schema.kubernetes import Kubernetes
from gitfed.model.base import Body, ClusterName, Commit, ObjectKey
from gitfed.model.counting import Count, unheard
from gitfed.model.decisions import Approval, Decisions
from gitfed.model.declared.federation import Federation
from gitfed.model.fleet import ClusterFacts, FactsRef, FleetSnapshot, InventoryEntry, LiveState
from gitfed.model.plan import Plan
from gitfed.model.repo import HeldFile, RepoSnapshot
from gitfed.offline import input_files, state_signatures
from gitfed.placement.scheduling import schedule
from gitfed.planning import build, rebuild
from gitfed.planning.objects import secret_leaks
from gitfed.reading import effective_guards, interpreters, kustomized, reader, trust, webhook_cache
from gitfed.source import locate
from gitfed.source import repo as source
from gitfed.source.memory import Memory
from gitfed.source.tree import FileTree
from gitfed.text import moment


@dataclass(frozen=True, slots=True)
class Opened:
    """A repository ready to read, and what was found out on the way."""

    repository: git.Repository
    name: str
    """As the user named it, without credentials."""
    memory: Memory
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
class Read:
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
        found = [entry.blob_id for entry in self.tree.entries() if entry.path == path and entry.mode != _LINK]
        return self.tree.read(found[0]) if found else None


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
    memory = Memory(files.DiskCache(files.cache_directory() / "parse"))
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


def _clone(url: str, memory: Memory, access: git.Access) -> Opened:
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
) -> Read:
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
    return Read(read_tree(opened, tree, history, held=held, committed=not worktree), notes, tree)


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
        held=held,
        last_good=reader.last_good(opened.repository, opened.memory, history, committed=committed, builds=builds),
        applied=reader.at(before, builds),
        applied_below=reader.below(before, builds),
        read_held=builds.read_held,
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


# -- decisions --------------------------------------------------------------------------------------------------


def decisions(
    opened: Opened, repo: RepoSnapshot, path: Path | None = None, only: Collection[ObjectKey] | None = None
) -> Decisions:
    """Past decisions: of the file if given, else of the state branch, else none. `only`: those for these templates.

    What webhooks answered always comes from the state branch: no file can hold it. Raises InputError for the file,
    StateTooNew for a state branch of a newer gitfed.
    """
    if path is not None:
        return replace(input_files.decisions(path), answers=recorded_answers(opened, repo))
    known = _state(opened, repo, only).decisions
    if known.applied_commit is None or not repo.commit:
        return known
    descends = opened.repository.is_ancestor(known.applied_commit, repo.commit)
    guards = effective_guards.in_force(known, repo.commit, lambda commit: settings_at(opened, commit).spec.guards)
    approvals = (*known.approvals, *_granted(opened, repo, known.limits or known.applied_commit))
    return replace(known, descends=descends, guards=guards, approvals=approvals)


def state_commit(opened: Opened, repo: RepoSnapshot) -> Commit | None:
    """Where the state branch stands whose decisions `decisions` reads; None: there is none."""
    return standing(opened, repo).commit


def standing(opened: Opened, repo: RepoSnapshot, *, facts: bool = False) -> git.tracking.BranchStanding:
    """Which commit of the state branch is meant, or of the facts branch, for every command that looks.

    What a person should know of it is put into `opened.told`.
    """
    spec = repo.settings.spec.state
    branch = spec.facts_branch if facts else spec.branch
    found = git.tracking.standing(opened.repository, branch, url=spec.url, begins_anew=facts)
    opened.told.setdefault(branch, _told(found, branch))
    if found.commit is not None and f"{branch} signed" not in opened.told:
        settings_of = functools.partial(settings_at, opened)
        why = state_signatures.why_doubtful(opened.repository, repo, found.commit, settings_of)
        text = f"{branch} is shown as it is, and a daemon would not believe it: {why}" if why else ""
        opened.told[f"{branch} signed"] = text
    return found


def _told(found: git.tracking.BranchStanding, branch: str) -> str:
    if found.ahead:
        return f"{branch} of this repository is newer than what was fetched from origin"
    if not found.tracking:
        return ""
    when = found.fetched
    text = f"{branch} is read as it was fetched from origin"
    if when is not None:
        text += f" {moment.ago(when, datetime.now(UTC))} (at {when:%Y-%m-%dT%H:%M:%SZ})"
    if found.behind:
        return f"{text}; the branch of that name in this repository is older, and is not read"
    if found.apart:
        return (
            f"{text}; the branch of that name in this repository has other commits, which do not count: push it, or "
            f"remove it (git branch -D {branch})"
        )
    return text


def _state(opened: Opened, repo: RepoSnapshot, only: Collection[ObjectKey] | None = None) -> state_edge.State:
    cache = files.DiskCache(files.cache_directory() / "state")
    branch = state_edge.StateBranch(opened.repository, bindings, branch=repo.settings.spec.state.branch, cache=cache)
    commit = standing(opened, repo).commit
    return state_edge.State(None, Decisions(known=False)) if commit is None else branch.at(commit, only)


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
    return reader.settings_at(opened.repository, opened.memory, commit, lambda: read(opened, commit).repo)


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


# -- facts ------------------------------------------------------------------------------------------------------


def fleet(opened: Opened, repo: RepoSnapshot, path: Path | None = None) -> FleetSnapshot:
    """Facts of the clusters: of the file if given, else of the facts branch, else assumed. Raises InputError."""
    if path is not None:
        return input_files.fleet(path, repo)
    return _fleet_of_branch(opened, repo) or assumed(repo)


def assumed(repo: RepoSnapshot) -> FleetSnapshot:
    """Nobody looked: declared clusters are Ready, serve every kind and have unknown room."""
    return FleetSnapshot(FactsRef("assumed"), input_files.completed({}, repo))


def _fleet_of_branch(opened: Opened, repo: RepoSnapshot) -> FleetSnapshot | None:
    commit = standing(opened, repo, facts=True).commit
    return None if commit is None else fleet_at(opened, repo, commit)


def fleet_at(opened: Opened, repo: RepoSnapshot, commit: Commit) -> FleetSnapshot:
    """Facts as one commit of the facts branch has them. Raises InputError, SourceError when it is not there."""
    repository, branch = opened.repository, repo.settings.spec.state.facts_branch
    found: dict[ClusterName, ClusterFacts] = {}
    total = hashlib.sha256()
    entries = repository.some(commit, (), ("clusters/",))
    known = memory.Memory(
        files.DiskCache(files.cache_directory() / "facts"),
        hashlib.sha256(f"{repository.path}\0{branch}".encode()).hexdigest(),
    )
    known.take_up()
    for path in sorted(entries):
        blob = entries[path].blob_id
        content = repository.read(blob)
        total.update(content)
        parsed = known.get(blob)
        if parsed is None:
            parsed = {"documents": [list(one) for one in input_files.documents(content, f"{branch}:{path}")]}
            known.add(blob, parsed)
        for place, document in parsed["documents"]:
            if facts.is_cluster(document):
                input_files.check_cluster(place, document)
                one = facts.from_document(document)
                if one.name in repo.clusters:  # a cluster whose declaration is gone is no target any more
                    found[one.name] = one
    known.keep({entry.blob_id for entry in entries.values()})
    ref = FactsRef("facts branch", commit, repository.info(commit).when, total.hexdigest())
    return FleetSnapshot(ref, input_files.completed(found, repo))


# -- the plan ---------------------------------------------------------------------------------------------------


def plan(
    opened: Opened,
    repo: RepoSnapshot,
    snapshot: FleetSnapshot,
    past: Decisions,
    now: datetime | None = None,
    *,
    base: Commit | None = None,
    kubernetes: Kubernetes | None = None,
) -> Plan:
    """`planning.build.build` with the interpreter of this commit and the present time, problems at their lines.

    Nothing that the commit names is contacted: what its webhooks say is what they said when past decisions were taken.
    `kubernetes`: as of `interpreters.of`.
    """
    when = now or datetime.now(UTC)
    interpreter = interpreters.of(repo, webhook_cache.recorded(past.answers), kubernetes=kubernetes)
    memo = build.Memo(count=opened.count)
    made = build.build(repo, snapshot, past, interpreter, when, base=base or past.applied_commit, memo=memo)
    return secret_leaks.masked(located(opened, repo, made))


def turn_of(
    repo: RepoSnapshot, snapshot: FleetSnapshot, past: Decisions, key: ObjectKey, now: datetime | None = None
) -> schedule.Turn | None:
    """What was asked for a template when its turn came in `plan`, and the room that others had left it; None: it had no
    turn, for nothing about it depends on others. Plans once more."""
    memo = build.Memo()
    memo.room.watched = key
    build.build(repo, snapshot, past, interpreter_of(repo, past), now or datetime.now(UTC), memo=memo, lazily=True)
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
    gone = {key: one for key, one in past.bindings.items() if key not in result.bindings}
    known = {key: one for key, one in gone.items() if done or one.preserve or one.kept}
    known |= {key: binding.decision for key, binding in result.bindings.items() if binding.decision is not None}
    return replace(past, bindings=known, descends=True)
