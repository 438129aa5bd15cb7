"""From options to values: what every command that looks does first.

Notes and problems that are not the command's result go to stderr. Nothing here decides; the order of sources is
`offline.inputs`' business.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitfed.cli import exits
from gitfed.cli.options import Credentials, Inputs, Server
from gitfed.cli.output import plain, progress
from gitfed.daemon import logs
from gitfed.errors import RevisionNotFound
from gitfed.model.base import Commit, Problem, Severity
from gitfed.model.decisions import Decisions
from gitfed.model.fleet import FleetSnapshot
from gitfed.model.plan import Plan
from gitfed.model.repo import RepoSnapshot
from gitfed.offline import fleet_inputs, inputs, state_inputs
from gitfed.offline import input_files as given_files
from gitfed.planning import retained_objects
from gitfed.planning.review import declared_changes
from gitfed.planning.review.declared_changes import Declaration
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.client.connection import HubConnection
    from gitfed.client.credential import Credential
    from gitfed.daemon import wiring

_RARELY = 5_000_000
"""New objects between two looks for garbage: a review of a large repository makes about so many, and little garbage."""


@dataclass(slots=True)
class CommandSession:
    """One command's inputs, each read when it is first needed."""

    input_options: Inputs
    credentials: Credentials = field(default_factory=Credentials)
    server: Server | None = None
    """The hub through whose doors the clusters are read; None: by the credentials."""
    _opened: inputs.Opened | None = None
    _read: inputs.ReadCommit | None = None

    @property
    def opened(self) -> inputs.Opened:
        if self._opened is None:
            log_plainly()
            # What a command reads lives until it ends: looking for garbage among it is a third of the reading.
            gc.set_threshold(_RARELY)
            self._opened = inputs.open_repository(
                self.input_options.repo,
                credentials=self.input_options.git_credentials,
                submodules=self.input_options.submodules,
            )
            self._opened = replace(self._opened, count=progress.of_command().count)
            close_later(self._opened)
            tell_later(self._opened)
        return self._opened

    @property
    def read(self) -> inputs.ReadCommit:
        if self._read is None:
            self._read = inputs.read(self.opened, self.input_options.rev, worktree=self.input_options.worktree)
            for text in self._read.notes:
                note(text)
        return self._read

    @property
    def repo(self) -> RepoSnapshot:
        return self.read.repo

    def at(self, commit: Commit) -> RepoSnapshot:
        """Another revision, sharing what is the same."""
        return inputs.read(self.opened, commit).repo

    def decisions(self, fleet: FleetSnapshot | None = None) -> Decisions:
        """What was decided before; where no state tells, what the inventories of `fleet` tell."""
        past = state_inputs.decisions(self.opened, self.repo, self.input_options.decisions)
        return state_inputs.without_state(past, fleet.live if fleet else None, self.repo)

    def fleet(self, *, live: bool | None = None) -> FleetSnapshot:
        """Facts, and with `--live` (or `live`) what is in the clusters."""
        if not (self.input_options.live if live is None else live):
            return fleet_inputs.fleet(self.opened, self.repo, self.input_options.fleet)
        observed = self.observe()
        if self.input_options.fleet is None:
            return self._completed(observed)
        named = given_files.fleet(self.input_options.fleet, self.repo)
        return FleetSnapshot(named.facts, named.clusters, observed.live)

    def observed(self) -> FleetSnapshot:
        """Facts as `fleet` finds them, and what is in the clusters when their credentials resolve (`gitfed plan`)."""
        recorded = self.fleet()
        if recorded.live is not None or not (self.server is not None or self._has_a_way):
            return recorded
        observed = self.observe()
        if recorded.facts.source == "assumed":
            return observed
        return FleetSnapshot(recorded.facts, recorded.clusters, observed.live)

    def observe(self, *, capacity: bool | None = None) -> FleetSnapshot:
        """Read the clusters. Imported here: only commands that touch one pay for a client and an event loop."""
        import asyncio

        from gitfed.daemon import wiring

        wired = self.wired(check=True)
        return asyncio.run(wiring.observe(self.repo, wired, capacity=capacity, count=progress.of_command().count))

    def wired(self, *, check: bool = False) -> wiring.DaemonOptions:
        """How the clusters are reached. `check`: ask the hub first whether it is there. Raises UsageError, InputError,
        HubError, HubUnreachable."""
        wired = wiring_options(self.input_options, self.credentials)
        if self.server is None:
            return wired
        from gitfed.cli import door_ways

        url, who = caller(self.server, self.credentials)
        if check:
            door_ways.check(url, who)
        return replace(wired, through_doors=door_ways.ways(url, who))

    @property
    def _has_a_way(self) -> bool:
        """Whether there are credentials for any declared cluster. Nothing is asked of a cluster."""
        if not kubeconfig_paths(self.credentials) and self.credentials.credentials_dir is None:
            return False
        from gitfed.daemon import wiring

        wired = self.wired()
        return any(wiring.has_credentials(wired, cluster) for cluster in self.repo.clusters.values())

    def _completed(self, observed: FleetSnapshot) -> FleetSnapshot:
        """With what the facts branch says of clusters that could not be asked, for want of credentials."""
        if not any(facts.assumed for facts in observed.clusters.values()):
            return observed
        recorded = fleet_inputs.fleet(self.opened, self.repo).clusters
        clusters = {
            name: recorded.get(name, facts) if facts.assumed else facts for name, facts in observed.clusters.items()
        }
        return replace(observed, clusters=clusters)

    def plan(self, fleet: FleetSnapshot | None = None, past: Decisions | None = None) -> Plan:
        fleet = fleet or self.fleet()
        past = self.decisions(fleet) if past is None else past
        if why := state_inputs.refused(self.opened, self.repo, past):
            note(f"a daemon would not apply this commit: {why}")
        return inputs.plan(self.opened, self.repo, fleet, past, self.input_options.now)

    def with_in_use(self, plan: Plan, fleet: FleetSnapshot) -> Plan:
        """The plan as an apply would carry it out: what holds something of others is not deleted (asks its cluster)."""
        if fleet.live is None or not any(retained_objects.may_be_in_use(change) for change in plan.changes or ()):
            return plan
        import asyncio

        from gitfed.daemon import wiring

        return retained_objects.with_in_use(plan, asyncio.run(wiring.in_use(self.repo, self.wired(), plan)))

    def declared(self, plan: Plan) -> tuple[Declaration, ...]:
        """What is declared otherwise than in the commit that was applied last, and no object of the plan shows."""
        if plan.base is None or plan.base == plan.commit:
            return ()
        try:
            return declared_changes.beside_plan(self.at(plan.base), self.repo)
        except RevisionNotFound:
            note(f"{plan.base[:7]}, which was applied last, is not in this repository: what else changed is not told")
            return ()

    @property
    def now(self) -> datetime:
        return self.input_options.now or datetime.now(UTC)


def close_later(opened: inputs.Opened) -> None:
    """Its Git process ends with the command, however that ends."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.call_on_close(opened.repository.close)


def tell_later(opened: inputs.Opened) -> None:
    """Which of two branches was read, and when it was fetched, is said once, when the command ends."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.call_on_close(lambda: tell_read(opened))


def tell_read(opened: inputs.Opened) -> None:
    for _, text in sorted(opened.told.items()):
        if text:
            note(text)


def wiring_options(input_options: Inputs, credentials: Credentials) -> wiring.DaemonOptions:
    from gitfed.daemon import wiring

    when = input_options.now
    settings: dict[str, Any] = {} if when is None else {"now": lambda: when}
    return wiring.DaemonOptions(
        repo=input_options.repo or str(Path.cwd()),
        branch=input_options.rev or None,
        kubeconfig=kubeconfig_paths(credentials),
        credentials_dir=credentials.credentials_dir,
        allow_exec=credentials.allow_exec,
        git_credentials=input_options.git_credentials,
        submodules=input_options.submodules,
        **settings,
    )


def kubeconfig_paths(credentials: Credentials) -> tuple[Path, ...]:
    """--kubeconfig, else every file of KUBECONFIG, else kubectl's default place."""
    if credentials.kubeconfig is not None:
        return (credentials.kubeconfig,)
    if named := os.environ.get("KUBECONFIG"):
        return tuple(Path(part) for part in named.split(os.pathsep) if part)
    usual = Path.home() / ".kube" / "config"
    return (usual,) if usual.is_file() else ()


def hub(server: Server, credentials: Credentials | None = None) -> HubConnection:
    """The hub that is asked in place of a repository. Raises UsageError, InputError; makes no request."""
    from gitfed.client.connection import HubConnection

    return HubConnection(*caller(server, credentials))


def caller(server: Server, credentials: Credentials | None = None) -> tuple[str, Credential]:
    """Where a hub is, and who asks it. Raises UsageError, InputError."""
    from gitfed.client import address, credential

    url = address.checked(server.url) if server.url else ""
    files = credential.Files(server.authority, server.certificate, server.key, server.token)
    if not server.context and (server.certificate is not None or server.key is not None or server.token is not None):
        return url, credential.of_files(files)
    paths = kubeconfig_paths(Credentials(server.kubeconfig) if credentials is None else credentials)
    where, identity = credential.of_kubeconfig(paths, url, server.context)
    if server.authority is not None:
        identity = replace(identity, authority=credential.of_files(credential.Files(server.authority)).authority)
    return where, identity


def has_credentials(credentials: Credentials) -> bool:
    """Is there anything that could say how to reach a cluster? A pod's own account may be enough."""
    in_pod = "KUBERNETES_SERVICE_HOST" in os.environ
    return bool(kubeconfig_paths(credentials)) or credentials.credentials_dir is not None or in_pod


def log_plainly() -> None:
    """What edges log goes to stderr with its keys, for commands that have no log of their own."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(logs.TextFormatter())


@contextlib.contextmanager
def without_warnings(*loggers: str) -> Iterator[None]:
    """For a command whose result tells what these would warn of."""
    muted = [logging.getLogger(name) for name in loggers]
    before = [logger.level for logger in muted]
    for logger in muted:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(muted, before, strict=True):
            logger.setLevel(level)


def note(text: str) -> None:
    click.echo(f"note: {plain.clean(text)}", err=True)


def tell(problems: Iterable[Problem], *, most: int = 50) -> int:
    """Problems beside another result: to stderr. The exit code that they ask for."""
    ordered = list(problems)
    ordered.sort(key=lambda problem: (problem.severity is not Severity.ERROR, problem))
    for problem in ordered[:most]:
        click.echo(plain.clean(str(problem)), err=True)
    if len(ordered) > most:
        note(f"and {len(ordered) - most} more: gitfed validate lists them")
    return code(ordered)


def tell_errors(problems: Iterable[Problem]) -> int:
    """Why a command that lists other things leaves with INVALID, to stderr; warnings are left to validate."""
    return tell(problem for problem in problems if problem.severity is Severity.ERROR)


def tell_unread(plan: Plan) -> int:
    """Why clusters could not be read, where the result does not say it: to stderr. The exit code that it asks for."""
    unread = unread_notes(plan)
    for text in unread:
        note(text)
    return exits.UNREACHABLE if unread else exits.OK


def unread_notes(plan: Plan) -> list[str]:
    return [text for text in plan.notes if "could not be read" in text]


def code(problems: Iterable[Problem]) -> int:
    return exits.INVALID if any(problem.severity is Severity.ERROR for problem in problems) else exits.OK
