"""The one place where edges are made and put together: for the daemon, for one `apply`, and for looking.

Everything else gets what it needs as arguments, so a test can put a different world under the same engine.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from gitfed.daemon import clock, leader, observe_once
from gitfed.daemon.cycle import Engine, EngineCallbacks
from gitfed.daemon.facts_record import FactsRecord
from gitfed.daemon.fleet.cluster_health import Timing
from gitfed.daemon.fleet.members import MemberOptions
from gitfed.daemon.fleet.pulled.member import LEASE
from gitfed.daemon.push_queue import Records
from gitfed.daemon.record import Record
from gitfed.daemon.telemetry import Telemetry
from gitfed.documents import bindings, facts
from gitfed.edges import files, git, leader_ref, pod
from gitfed.edges.git import signing_key, tracking
from gitfed.edges.kube.connection import credentials
from gitfed.edges.kube.connection.credentials import ClusterConnection
from gitfed.edges.kube.connection.looking import LookingSession
from gitfed.edges.kube.connection.session import Relay, Session
from gitfed.edges.kube.leases import election, lease
from gitfed.edges.state import facts_branch, state
from gitfed.errors import CredentialsError, GitfedError, SourceError
from gitfed.model import leader as leading
from gitfed.model.counting import Count, unheard
from gitfed.model.declared.cluster import Cluster
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.planning import retained_objects
from gitfed.reading import interpreters
from gitfed.reading.reader import Reader
from gitfed.reading.state_trust import StateTrust
from gitfed.text.values import dataclass

log = logging.getLogger("gitfed")

_AT_A_DOOR = 8
"""Requests of a look to one cluster at a time: through an agent each takes a connection, and others want some, too."""


@dataclass(frozen=True, slots=True)
class DaemonOptions:
    """What the command line says about this process; what the repository says is in its Federation."""

    repo: str
    branch: str | None = None
    data_dir: Path | None = None
    kubeconfig: tuple[Path, ...] = ()
    credentials_dir: Path | None = None
    allow_exec: bool = False
    through_doors: Callable[[Cluster], ClusterConnection] | None = None
    """For a look through the doors of a hub, in place of the credentials above."""
    git_credentials: Path | None = None
    """Folder of what the source and the state's repository need (`git.Access`)."""
    submodules: tuple[str, ...] = ()
    """Prefixes of URLs that submodules may come from."""
    trusted_keys: Path | None = None
    """Folder of the operator's own public keys: commits must be signed with one of them."""
    state_key: Path | None = None
    """The private key that signs commits of the state and facts branches; None: one in the data directory."""
    interval: float | None = None
    """Seconds; beats `spec.sync.interval`."""
    concurrency: int = 16
    timing: Timing = field(default_factory=Timing)
    lease: float = LEASE
    """Seconds after which a pulled cluster is unknown whose agent is silent."""
    push_state: bool | None = None
    """None: as the repository's settings say."""
    health_address: str = "127.0.0.1:0"
    """host:port of the liveness and readiness endpoint; "" for none."""
    adopt: frozenset[str] = frozenset()
    """Clusters to take over although their inventory is damaged or belongs to another repository."""
    leader: leader.LeaderOptions | None = None
    """How several daemons of one repository agree which one works; None: this is the only one."""
    now: Callable[[], datetime] = field(default_factory=lambda: clock.Steady().now)
    telemetry: Telemetry = field(default_factory=Telemetry)
    """Counts over the life of this process, whatever becomes of engines and connections."""


def data_dir(options: DaemonOptions) -> Path:
    """Where this process keeps its clone, its state and its cache."""
    if options.data_dir is not None:
        return options.data_dir
    location = options.repo
    if not git.is_url(location):
        location = str(Path(location).resolve())
        with contextlib.suppress(SourceError):
            location = str(git.find_root(Path(location)))  # the same from every folder of a checkout
    return _state_home() / hashlib.sha256(location.encode()).hexdigest()[:16]


def state_key(options: DaemonOptions) -> Path:
    """The private key with which this process signs what it writes on the state and facts branches."""
    return options.state_key or data_dir(options) / "state-key"


def signs(options: DaemonOptions) -> Path:
    """Where processes of this user that follow the same repository find each other, whatever their data directory."""
    location = options.repo if git.is_url(options.repo) else str(git.find_root(Path(options.repo)))
    return _state_home() / "following" / hashlib.sha256(location.encode()).hexdigest()[:16]


def _state_home() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "gitfed"


def open_sessions(options: DaemonOptions, *, as_sent: bool = False) -> Callable[[Cluster], Session]:
    """How a member reaches its cluster. Raises CredentialsError when called for one without usable credentials."""
    sources = _sources(options)
    fence = options.leader.fence if options.leader is not None else None

    def open_session(cluster: Cluster) -> Session:
        try:
            way = credentials.resolve(cluster, sources)
        except CredentialsError as error:
            if cluster.spec.sync_mode != "Pull":
                raise
            name = cluster.metadata.name
            raise CredentialsError(
                f"cluster {name}: it is pulled: its agent reaches it, and this process does not",
                cluster=name,
                hint="gitfed plan --server looks through a hub; or a context of that name, if you may reach it",
            ) from error
        return Session(
            cluster.metadata.name,
            way,
            concurrency=options.concurrency,
            fence=fence,
            tally=options.telemetry.requests,
            relay=Relay(as_sent),
        )

    return open_session


def open_doors(options: DaemonOptions) -> Callable[[Cluster, Counter[tuple[str, str, str]]], Session]:
    """How callers of the hub reach a cluster: whichever daemon leads, they write in their own name, and bodies stay as
    sent."""
    open_session = open_sessions(replace(options, leader=None), as_sent=True)

    def open_door(cluster: Cluster, tally: Counter[tuple[str, str, str]]) -> Session:
        session = open_session(cluster)
        session.tally = tally
        return session

    return open_door


def _open_looks(options: DaemonOptions) -> Callable[[Cluster], Session]:
    """How somebody who looks once reaches a cluster. Raises as `open_sessions`."""
    if options.through_doors is None:
        return open_sessions(options)
    way_of = options.through_doors

    def open_look(cluster: Cluster) -> Session:
        return LookingSession(cluster.metadata.name, way_of(cluster), concurrency=_AT_A_DOOR)

    return open_look


def has_credentials(options: DaemonOptions, cluster: Cluster) -> bool:
    """Whether this process could reach a cluster, as far as its own files tell."""
    try:
        credentials.resolve(cluster, _sources(options))
    except CredentialsError:
        return False
    return True


def _sources(options: DaemonOptions) -> credentials.CredentialSources:
    return credentials.CredentialSources(
        kubeconfig=options.kubeconfig,
        credentials_dir=options.credentials_dir,
        allow_exec=options.allow_exec,
    )


def make_engine(
    options: DaemonOptions,
    *,
    review: Callable[[Plan], None] | None = None,
    listener: Callable[[str, Any], None] = lambda event, value: None,
    reading: Callable[[Reader], None] = lambda reader: None,
    one_shot: bool = False,
    takes_over: bool = True,
) -> Engine:
    """An engine over real edges. Raises SourceError when the repository cannot be opened.

    `reading` hears of the reader before it asks for the first commit: a process that is told to stop meanwhile
    interrupts it. `one_shot`: what cannot be recorded where others read it is not done. `takes_over`: also where a
    daemon leads.
    """
    clone, reader, settings, url = _opened(options, reading)
    push = settings.push if options.push_state is None else options.push_state
    key = signing_key.of_file(state_key(options))
    believed = StateTrust(reader.trust, key)
    branch = state.StateBranch(clone, bindings, branch=settings.branch, sign=key.sign)

    def pushed(name: str) -> None:
        if not reader.remote and settings.url is None and url != reader.location:
            tracking.pushed(reader.repository, clone.path, name)

    record = Record(
        branch, url=url, push=push, alone=not one_shot, pushed=partial(pushed, settings.branch), trust=believed
    )
    facts_record = FactsRecord(
        facts_branch.FactsBranch(clone, facts, branch=settings.facts_branch, sign=key.sign),
        url=url,
        push=push,
        pushed=partial(pushed, settings.facts_branch),
        trust=believed,
    )
    kind = leading.ONE_SHOT if one_shot else leading.DAEMON
    engine_options = MemberOptions(
        timing=options.timing,
        concurrency=options.concurrency,
        adopt=options.adopt,
        now=options.now,
        telemetry=options.telemetry,
        lease=options.lease,
        leader=leading.name(kind, socket.gethostname(), str(data_dir(options).resolve())),
        takes_over=takes_over,
    )
    return Engine(
        reader,
        Records(record, facts_record),
        open_sessions(options),
        partial(interpreters.of, reaches_services=pod.runs_here()),
        engine_options,
        callbacks=EngineCallbacks(review, listener),
    )


def _clone(path: Path) -> git.Repository:
    """Readable by its owner alone, whatever the umask: it holds what the repository holds, Secrets too."""
    clone = _opened_clone(path)
    try:
        path.chmod(0o700)
    except OSError as error:
        raise SourceError(f"{path} cannot be kept to ourselves: {error.strerror}") from error
    return clone


def _opened_clone(path: Path) -> git.Repository:
    if (path / "HEAD").exists():
        # One whose making was cut short is none yet; making it again completes it.
        with contextlib.suppress(SourceError):
            return git.Repository.open(path)
    return git.Repository.create(path)


def _opened(options: DaemonOptions, reading: Callable[[Reader], None]) -> tuple[git.Repository, Reader, Any, str]:
    """This process's clone, the reader of its source, `spec.state`, and where the state lives. Raises SourceError."""
    folder = data_dir(options)
    clone = _clone(folder / "clone.git")
    location = options.repo if git.is_url(options.repo) else str(git.find_root(Path(options.repo)))
    clone.check_version()
    clone.ours = True
    clone.remote_command = options.telemetry.remote
    clone.access = git.Access(options.git_credentials, source=location)
    reader = Reader(
        location,
        clone,
        files.DiskCache(folder / "parse"),
        branch=options.branch,
        accepted=folder / "accepted.json",
        trusted_keys=options.trusted_keys,
        submodules=options.submodules,
    )
    reading(reader)
    settings = _settings(reader)
    if not reader.remote:
        origin = tracking.remote_address(reader.repository) or ""
        reader.repository.access = git.Access(options.git_credentials, source=origin)
    home = tracking.home(reader.repository, location, settings.branch, url=settings.url)
    if not reader.remote and git.is_url(home):
        clone.access = git.Access(options.git_credentials, source=home)
    return clone, reader, settings, home


def make_lock(
    options: DaemonOptions, how: leader.LeaderOptions, *, reading: Callable[[Reader], None] = lambda reader: None
) -> election.Lock:
    """Where daemons agree which one leads. Raises SourceError, CredentialsError."""
    if how.lock == "git":
        clone, _, _, url = _opened(options, reading)
        return leader_ref.RefLock(clone, url)
    return lease.LeaseLock(open_host(options, "leader-election", how.context), namespace=how.namespace, name=how.name)


def open_host(options: DaemonOptions, purpose: str, context: str = "") -> Session:
    """A way to the cluster around this pod, or to that of a context, which need not be one of the fleet's. Raises
    CredentialsError."""
    # Without a fence: the lock itself is written by a daemon that does not lead yet.
    way = credentials.of_host(purpose, _sources(options), context)
    return Session(purpose, way, concurrency=options.concurrency, tally=options.telemetry.requests)


def _settings(reader: Reader) -> Any:
    """`spec.state` of the newest commit: where the state lives is read once, at start."""
    commit, base = reader.newest(), reader.trust.base
    try:
        return reader.read(commit, None, {}).settings.spec.state
    except GitfedError:
        raise
    except Exception:
        if base is None or base == commit:
            raise
        # The newest commit makes us fail. The loop says so (`Commits`); the last good one tells where the state is.
        return reader.read(base, None, {}).settings.spec.state


async def observe(
    repo: RepoSnapshot, options: DaemonOptions, *, capacity: bool | None = None, count: Count = unheard
) -> FleetSnapshot:
    """What the clusters hold now; nothing is written. `capacity`: read nodes and pods; None: if a policy needs it."""
    return await observe_once.look(
        repo, _open_looks(options), interpreters.of(repo), now=options.now, capacity=capacity, count=count
    )


async def in_use(repo: RepoSnapshot, options: DaemonOptions, plan: Plan) -> retained_objects.InUse:
    """What the plan would delete and an apply will not: see `observe_once.in_use`."""
    return await observe_once.in_use(repo, _open_looks(options), plan)
