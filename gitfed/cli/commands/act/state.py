"""gitfed state key, gitfed state trust and gitfed state begin"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from gitfed.cli import load, options, parameters
from gitfed.cli.commands.act import suspend
from gitfed.edges import git
from gitfed.errors import InputError, UsageError


@click.group("state")
def command() -> None:
    """Say whose decisions on the state branch count, and with which it begins.

    What is written on the state and facts branches is signed. Where spec.sources.verify asks for signatures, a daemon
    believes its own commits, those of the engines in spec.state.writers, and signed orders of spec.guards.operators and
    approvers.
    """


@command.command("key")
@options.source
@options.STATE_KEY
@parameters.option(
    "--data-dir",
    type=parameters.Files(file_okay=False),
    metavar="DIR",
    default=None,
    help="Of the daemon or the apply whose key is meant.  [default: below XDG_STATE_HOME]",
)
def key(inputs: options.Inputs, state_key: Path | None, data_dir: Path | None) -> int:
    """Print the public key with which gitfed signs here, as a line to commit; the key is made where there is none.

    A daemon always believes its own key. Another engine, a second daemon without the same --state-key or a
    `gitfed apply` elsewhere, has to be named in the repository.

    \b
    gitfed state key
    gitfed state key --state-key gitfed-state-key     make a key for a Secret that replicas share

    \b
    Exit codes: 0 done · 2 bad usage · 4 the key cannot be made or read, or there is no repository here.
    """
    from gitfed.daemon import wiring
    from gitfed.edges.git import signing_key

    path = state_key
    if path is None:
        if data_dir is None and not git.is_url(inputs.repo):
            # Else a key would be made for a repository that is none, and no daemon would ever find it.
            git.find_root(Path(inputs.repo or Path.cwd()))
        settings = load.wiring_options(inputs, options.Credentials())
        path = wiring.state_key(replace(settings, data_dir=data_dir))
    made = signing_key.of_file(path)
    click.echo("spec:\n  state:\n    writers:")
    click.echo(f"    - {made.public}")
    load.note(f"{path} was {'made now' if made.made else 'there already'}; commit the lines above to the Federation")
    return 0


@command.command("trust")
@options.source
def trust(inputs: options.Inputs) -> int:
    """Sign the state branch as it is, so that daemons believe it: look at it first.

    For a branch from before commits were signed, or of an engine whose key is lost. It counts if one of
    spec.guards.operators of the last accepted commit signs it; Git's own set-up says with which key you sign.

    \b
    git log -p origin/gitfed/state
    gitfed state trust

    \b
    Exit codes: 0 done · 3 invalid input in the repository, or who signs is no operator · 4 the repository or its state
    branch cannot be read or written, or Git names no key of yours.
    """
    from gitfed.offline import order_book

    session = load.CommandSession(inputs)
    commit = order_book.vouch(suspend.book(session), by=suspend.person(), now=datetime.now(UTC))
    click.echo(f"The state branch is trusted as of {commit[:12]}.")
    return 0


@command.command("begin")
@click.argument("file", type=parameters.Files(exists=True, dir_okay=False))
@options.source
@parameters.option("--dry-run", shared=False, is_flag=True, help="Say what would be taken in, and write nothing.")
def begin(file: Path, inputs: options.Inputs, dry_run: bool) -> int:
    """Begin the state branch with decisions that were taken elsewhere, before gitfed decides anything itself.

    FILE holds ResourceBinding documents, as gitfed import karmada --decisions-out writes them: the first plan starts
    from them, so that nothing moves. Those of objects that the commit does not have are left out and named. Where a
    state branch is already, nothing is taken in. The commit is signed like an order (see gitfed state trust).

    \b
    gitfed plan --decisions decisions.yaml        look first: Nothing to do
    gitfed state begin decisions.yaml

    \b
    Exit codes: 0 done · 2 bad usage · 3 invalid input in FILE or in the repository, or who signs is no operator · 4 the
    repository or its state branch cannot be read or written, or there is one already.
    """
    from gitfed.offline import input_files, order_book

    if inputs.worktree:
        raise UsageError("decisions are about a commit", hint="commit first; --worktree is for plan and diff")
    session = load.CommandSession(inputs)
    templates = session.repo.manifests
    decisions = input_files.decisions(file)
    bindings = {key: binding for key, binding in decisions.bindings.items() if key in templates}
    for key in sorted(decisions.bindings.keys() - bindings.keys()):
        load.note(f"left out: {session.repo.commit[:12] if session.repo.commit else 'the repository'} has no {key}")
    if not bindings:
        raise InputError(f"{file}: it decides nothing of what the repository has", hint="is it of another repository?")
    counted = f"{len(bindings)} decision{'' if len(bindings) == 1 else 's'}"
    branch = session.repo.settings.spec.state.branch
    if dry_run:
        click.echo(f"{branch} would begin with {counted}.")
        return load.tell(session.repo.problems)
    made = order_book.begin(
        suspend.book(session),
        replace(decisions, bindings=bindings),
        source=file.name,
        by=suspend.person(),
        now=session.now,
    )
    assert made.commit is not None
    click.echo(f"{branch} begins with {counted}, in {made.commit[:12]}.")
    if git.tracking.is_in_checkout_alone(session.opened.repository, branch):
        load.note(f"it is in this checkout alone: before a daemon reads origin, git push origin {branch}")
    return load.tell(session.repo.problems)
