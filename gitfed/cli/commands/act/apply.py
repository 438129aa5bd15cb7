"""gitfed apply"""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from gitfed.cli import exits, load, options, parameters, plan_file
from gitfed.cli.commands.act import suspend
from gitfed.cli.commands.look.plan import codes
from gitfed.cli.commands.look.plan import show as show_plan
from gitfed.cli.output import formatting, plain, plan_text, progress, structured, table
from gitfed.errors import CredentialsError, InputError, UsageError
from gitfed.model.counting import Count
from gitfed.model.plan import Action, Plan
from gitfed.text.values import dataclass
from gitfed.views import names, plans

SCHEMA = "gitfed.io/applied/v1"
_WRITTEN = ("created", "configured", "deleted", "unchanged")
_REPORTED = ("gitfed.failover", "gitfed.fleet", "gitfed.held.gates", "gitfed.member", "gitfed.status")
"""Loggers of what the result tells: failures, clusters that are away, gates."""


@dataclass(frozen=True, slots=True)
class Applying:
    """How a plan is carried out."""

    trusted_keys: Path | None
    state_key: Path | None
    data_dir: Path | None
    adopt: tuple[str, ...]
    take_over: bool
    confirm: str
    wait: bool
    timeout: float


@click.command("apply")
@click.argument("reviewed", metavar="[PLANFILE]", required=False, type=parameters.Files(exists=True, dir_okay=False))
@options.source
@options.TRUSTED_KEYS
@options.STATE_KEY
@options.credentials
@parameters.option("--wait", shared=False, is_flag=True, help="Wait until what was applied is healthy.")
@parameters.option(
    "--timeout",
    shared=False,
    type=parameters.Duration(),
    default="5m",
    show_default=True,
    metavar="DURATION",
    help="How long to work and wait.",
)
@parameters.option(
    "--confirm",
    shared=False,
    metavar="DIGEST",
    default="",
    help="Let through what gates hold, of exactly the plan with this digest.",
)
@parameters.option(
    "--dry-run",
    shared=False,
    type=click.Choice(["client", "server"]),
    default=None,
    help="client: show what would be done. server: let every API server check it, and change nothing.",
)
@parameters.option(
    "--data-dir",
    type=parameters.Files(file_okay=False),
    metavar="DIR",
    help="Where the clone and the state are kept.  [default: under XDG_STATE_HOME]",
)
@parameters.option(
    "--adopt",
    shared=False,
    multiple=True,
    metavar="CLUSTER",
    help="Take over a cluster whose inventory is damaged or belongs to another repository; may be repeated.",
)
@parameters.option(
    "--take-over",
    shared=False,
    is_flag=True,
    help="Apply although a daemon leads, or was killed; it leads again afterwards.",
)
@options.output("text", "json", "yaml")
@parameters.value("applying", Applying)
def command(
    reviewed: Path | None,
    inputs: options.Inputs,
    applying: Applying,
    credentials: options.Credentials,
    dry_run: str | None,
    output: options.Output,
) -> int:
    """Carry out one plan: read, decide, write to every cluster that differs, remember.

    What is applied is a branch: the one that HEAD names, or that of --rev. With PLANFILE (from gitfed plan --out) the
    plan is built again and refused, with the difference, if its decisions or changes are not the reviewed ones.

    Where a daemon leads, nothing is applied: it applies what is pushed. So where agents keep every cluster, which
    listen to gitfed run alone. In a clone the state branch of its origin is fetched and pushed to.

    \b
    gitfed apply --dry-run=client
    gitfed apply --kubeconfig fleet.conf --wait --timeout 10m
    gitfed plan --live --out plan.json && gitfed apply plan.json
    gitfed apply --confirm 4f0c…        what the gates of that plan hold

    \b
    Exit codes: 0 done · 2 bad usage · 3 invalid input in the repository, or not the reviewed plan · 4 repository or a
    cluster unreachable, or a daemon leads · 5 a gate holds something · 6 applied, but not healthy in time or refused.
    """
    if applying.adopt:
        declared = load.CommandSession(inputs).repo.clusters
        for name in applying.adopt:
            if name not in declared:
                raise UsageError(f"--adopt: no cluster {name!r}", hint=f"there are {', '.join(sorted(declared))}")
    if inputs.worktree:
        raise UsageError("only commits are applied", hint="--worktree is for plan and diff")
    saved = plan_file.read(reviewed) if reviewed is not None else None
    if saved is not None or dry_run is not None:
        session = load.CommandSession(replace(inputs, live=True), credentials)
        fleet = session.fleet()
        past = session.decisions(fleet)
        plan = session.plan(fleet, past)
        if saved is not None:
            # Before this process becomes the one that leads there; what is then carried out is checked once more.
            _check(saved, plan)
        if dry_run == "server" or saved is not None:
            load.tell_unread(plan)
        if dry_run == "server":
            return _on_servers(session, plan, output)
        if dry_run == "client":
            plan = session.with_in_use(plan, fleet)
            show_plan(plan_text.view(plan, past), output)
            return exits.first([load.tell(plan.problems), *codes(plan)])
    if not load.has_credentials(credentials):
        # Said here, before anything is recorded: else the state branch, which others read, would tell of clusters that
        # do not answer, although they were never asked.
        raise CredentialsError(
            "no cluster can be reached: there is no kubeconfig and no folder of credentials",
            hint="give --kubeconfig (or KUBECONFIG) or --credentials-dir",
        )
    return _carry_out(inputs, credentials, applying, saved, output)


def _check(saved: plan_file.Saved, plan: Plan) -> None:
    differences = plan_file.differences(saved, plan)
    if differences:
        for line in differences[:50]:
            click.echo(plain.clean(line), err=True)
        raise InputError(
            f"this is not the plan of {saved.path} any more", hint="review it again: gitfed plan --live --out FILE"
        )


def _carry_out(
    inputs: options.Inputs,
    credentials: options.Credentials,
    applying: Applying,
    saved: plan_file.Saved | None,
    output: options.Output,
) -> int:
    from gitfed.daemon import apply_once

    load.log_plainly()
    counting = progress.of_command()
    outcomes = Outcomes(counting.count)
    settings = load.wiring_options(inputs, credentials)
    settings = replace(
        settings, adopt=frozenset(applying.adopt), trusted_keys=applying.trusted_keys, state_key=applying.state_key
    )
    if applying.data_dir is not None:
        settings = replace(settings, data_dir=applying.data_dir)
    order = apply_once.Order(
        applying.timeout, applying.wait, applying.confirm, by=suspend.person(), take_over=applying.take_over
    )
    try:
        with load.without_warnings(*_REPORTED):
            done = asyncio.run(
                apply_once.apply_once(
                    settings,
                    order,
                    listener=outcomes.listen,
                    review=None if saved is None else functools.partial(_check, saved),
                )
            )
    finally:
        counting.end()
    if output.format == "text":
        _print(done, outcomes, output, wait=applying.wait)
        if applying.confirm and done.plan.digest != applying.confirm:
            load.note(f"--confirm {applying.confirm[:12]} names another plan than this one, {done.plan.digest[:12]}")
    else:
        structured.echo(_document(done, outcomes), output.format)
    load.tell_errors(done.plan.problems)
    return exits.first(
        [
            load.code(done.plan.problems),
            exits.HELD if any(gate.held for gate in done.plan.gates) else exits.OK,
            exits.UNREACHABLE if done.unreachable else exits.OK,
            exits.UNHEALTHY if done.failures or not done.settled or (applying.wait and done.unhealthy) else exits.OK,
        ]
    )


class Outcomes:
    """Counts what happens, and tells how far it is."""

    def __init__(self, count: Count) -> None:
        self._written: dict[str, Counter[str]] = {}
        self._left: dict[tuple[str, object], str] = {}
        """Objects whose last attempt wrote nothing, however many there were."""
        self._count = count
        self._wanted: set[tuple[str, object]] = set()
        """What the plan writes, by cluster and key."""
        self._tried: set[tuple[str, object]] = set()
        self._copies = 0

    def listen(self, event: str, value: Any) -> None:
        if event == "planned":
            acts = (
                planned
                for planned in value.changes or ()
                if planned.action in (Action.CREATE, Action.UPDATE, Action.DELETE)
            )
            self._wanted |= {(planned.cluster, planned.key) for planned in acts}
            self._copies = sum(len(binding.scheduled.shares) for binding in value.bindings.values())
        elif event == "result":
            change, result = value
            place = (change.cluster, change.key)
            if result.outcome in _WRITTEN:
                self._written.setdefault(change.cluster, Counter())[result.outcome] += 1
                self._left.pop(place, None)
            else:
                self._left[place] = result.outcome
            self._wanted.add(place)
            self._tried.add(place)
            self._count("changes carried out", len(self._tried), len(self._wanted))
        elif event == "waiting":
            self._count("copies healthy", max(0, self._copies - len(value)), self._copies)
        elif event == "source-error":
            click.echo(f"error: {plain.clean(str(value))}", err=True)

    @property
    def by_cluster(self) -> dict[str, Counter[str]]:
        """Writes, and each object that was not written once."""
        totals = {name: Counter(counts) for name, counts in self._written.items()}
        for (name, _), outcome in self._left.items():
            totals.setdefault(name, Counter())[outcome] += 1
        return totals


def _print(done: Any, outcomes: Outcomes, output: options.Output, *, wait: bool) -> None:
    if not output.quiet and outcomes.by_cluster:
        words = sorted({name for counts in outcomes.by_cluster.values() for name in counts})
        rows = [["CLUSTER", *words]]
        rows += [
            [name, *(str(counts[outcome]) for outcome in words)] for name, counts in sorted(outcomes.by_cluster.items())
        ]
        for line in table.lines(rows):
            click.echo(line)
    held = [gate for gate in done.plan.gates if gate.held]
    for line in plan_text.gates(held, output.paint, output.fold):
        click.echo(line, color=True)
    if any(gate.consent for gate in held):
        click.echo(f"To let it through: gitfed apply --confirm {done.plan.digest}", err=True)
    unhealthy = done.unhealthy if wait else ()
    away = [f"{name}: {why}" for name, why in done.unreachable.items()]
    for title, texts in (("failed", done.failures), ("unreachable", away), ("not healthy", unhealthy)):
        for text in texts:
            click.echo(f"{title}: {plain.clean(text)}", err=True)
    if done.unhealthy and not wait:
        load.note(f"{formatting.count(len(done.unhealthy), 'object')} not healthy yet: gitfed get works --live")
    count = sum(
        counts[name] for counts in outcomes.by_cluster.values() for name in ("created", "configured", "deleted")
    )
    stopped = bool(done.unreachable or done.failures) or any(gate.held for gate in done.plan.gates)
    what = "Not finished in time:" if not done.settled else "Not all of it applied:" if stopped else "Applied"
    click.echo(f"{what} {formatting.commit(done.plan.commit)}: {formatting.count(count, 'write')}.")


def _document(done: Any, outcomes: Outcomes) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "plan": plans.document(done.plan),
        "outcomes": {name: dict(counts) for name, counts in sorted(outcomes.by_cluster.items())},
        "failures": list(done.failures),
        "unreachable": list(done.unreachable),
        "unhealthy": list(done.unhealthy),
        "settled": done.settled,
    }


def _on_servers(session: load.CommandSession, plan: Plan, output: options.Output) -> int:
    from gitfed.cli import server_check

    settings = load.wiring_options(session.input_options, session.credentials)
    results = asyncio.run(server_check.run(session.repo, plan, settings))
    if output.format == "text":
        rows = [["CLUSTER", "OBJECT", "OUTCOME", "MESSAGE"]]
        rows += [[result.cluster, names.shown(result.key), result.outcome, result.message] for result in results]
        for line in table.lines(rows) if results and not output.quiet else ():
            click.echo(line)
        failed = sum(1 for result in results if result.outcome == "failed")
        click.echo(f"Checked {formatting.count(len(results), 'change')}, {failed} refused; nothing was written.")
    else:
        outcomes = [
            {"cluster": result.cluster, "object": str(result.key), "outcome": result.outcome, "message": result.message}
            for result in results
        ]
        structured.echo({"schema": "gitfed.io/checked/v1", "digest": plan.digest, "results": outcomes}, output.format)
    load.tell_errors(plan.problems)
    failing = exits.UNHEALTHY if any(result.outcome == "failed" for result in results) else exits.OK
    return exits.first([load.code(plan.problems), *codes(plan), failing])
