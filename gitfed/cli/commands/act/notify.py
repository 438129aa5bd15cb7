"""gitfed notify"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitfed.cli import load, options, parameters
from gitfed.cli.main import meant
from gitfed.cli.output import plain, structured
from gitfed.errors import UsageError

if TYPE_CHECKING:
    from gitfed.hub.notifications.conditions import FleetCondition
    from gitfed.hub.notifications.outbox import News
    from gitfed.model.declared.notification import Notification


@click.command("notify")
@click.argument("name", metavar="[NAME]", default="")
@parameters.option(
    "--test", "test", shared=False, is_flag=True, help="Send a test message to the target of NAME; needs --notify-dir."
)
@options.NOTIFY_DIR
@options.facts
@options.output("text", "json", "yaml")
def command(name: str, test: bool, notify_dir: Path | None, inputs: options.Inputs, output: options.Output) -> int:
    """Show what each Notification would say now, and send nothing; or send a test to one of them.

    It goes by what is recorded in Git: decisions, facts, and the commit. What API servers refused is known to the
    daemon alone. With -o json it shows the CloudEvents.

    \b
    gitfed notify
    gitfed notify oncall -o json
    gitfed notify oncall --test --notify-dir /etc/gitfed/notify

    \b
    Exit codes: 0 done · 1 the target did not take the test · 2 no such Notification · 3 invalid input in the repository
    · 4 repository unreachable.
    """
    session = load.CommandSession(inputs, options.Credentials())
    chosen = _chosen(session.repo.notifications, name)
    if test:
        if not name or notify_dir is None:
            raise UsageError("--test sends to one target", hint="gitfed notify NAME --test --notify-dir DIR")
        return _test(chosen[0], notify_dir, session)
    present = _present(session)
    told = [(notification, _news(session, notification, present)) for notification in chosen]
    if output.format == "text":
        _print(session.repo.settings.metadata.name, told)
    else:
        structured.echo(_document(session.repo.settings.metadata.name, told), output.format)
    return load.tell_errors(session.repo.problems)


def _chosen(notifications: Sequence[Notification], name: str) -> list[Notification]:
    kind, slash, rest = name.partition("/")
    name = rest if slash and kind.lower() == "notification" else name  # as a plan and a diff call it
    names = [notification.metadata.name for notification in notifications]
    if name and name not in names:
        raise UsageError(f"no Notification {name!r}{meant(name, names)}", hint="gitfed notify lists them")
    return [notification for notification in notifications if name in ("", notification.metadata.name)]


def _present(session: load.CommandSession) -> dict[str, FleetCondition]:
    from gitfed.hub.notifications import conditions
    from gitfed.offline import state_inputs

    fleet = session.fleet()
    past = session.decisions(fleet)
    plan = session.plan(fleet, past)
    why = state_inputs.refused(session.opened, session.repo, past)
    situation = conditions.Situation(
        plan.federation, plan, past, fleet.clusters, rejected=(session.repo.commit or None, why) if why else None
    )
    return conditions.of(situation)


def _news(
    session: load.CommandSession, notification: Notification, present: dict[str, FleetCondition]
) -> Sequence[News]:
    from gitfed.hub.notifications import interest
    from gitfed.hub.notifications.outbox import Outbox

    fresh = Outbox()
    fresh.see(interest.of(notification, session.repo, present), (), session.now)
    return fresh.owed(notification, session.now)


def _print(federation: str, told: Sequence[tuple[Notification, Sequence[News]]]) -> None:
    from gitfed.hub.notifications import messages

    if not told:
        click.echo("the repository has no Notification")
    for notification, news in told:
        spec = notification.spec
        click.echo(
            f"{notification.metadata.name}: to target {spec.target} by {spec.provider}, of {', '.join(spec.events)}"
        )
        if not news:
            click.echo("  nothing to say")
            continue
        message = messages.lines(federation, news)
        for line in (message.title, *message.body.splitlines()):
            click.echo(f"  {plain.clean(line)}")


def _document(federation: str, told: Sequence[tuple[Notification, Sequence[News]]]) -> object:
    from gitfed.hub.notifications import messages

    return {
        "schema": "gitfed.io/notify/v1",
        "notifications": [
            {
                "name": notification.metadata.name,
                "target": notification.spec.target,
                "provider": notification.spec.provider,
                "events": [messages.cloud_event(federation, news_item) for news_item in news],
            }
            for notification, news in told
        ],
    }


def _test(notification: Notification, folder: Path, session: load.CommandSession) -> int:
    from gitfed.errors import DeliveryError
    from gitfed.hub.notifications import notifier

    news = (notifier.of_test(session.now),)
    federation = session.repo.settings.metadata.name
    try:
        asyncio.run(notifier.send(notification, folder, federation, news, lambda delivered: None))
    except DeliveryError as error:
        click.echo(f"not delivered: {error}", err=True)
        return 1
    click.echo(f"the target {notification.spec.target} has taken a test message")
    return 0
