"""Options that several commands share: one definition, one help text, one environment variable each.

A decorator adds a group of options and hands the command one value for them, so that every command reads the same words
the same way.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from gitfed.cli import complete
from gitfed.cli.output import plain, progress
from gitfed.cli.parameters import Command, Duration, Files, Rfc3339, gathered, option
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a plan is built from, as named on the command line. Read by `offline.inputs`."""

    repo: str = ""
    git_credentials: Path | None = None
    submodules: tuple[str, ...] = ()
    rev: str = ""
    worktree: bool = False
    fleet: Path | None = None
    live: bool = False
    decisions: Path | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """How results are to be printed."""

    format: str = "text"
    color: str = "auto"
    quiet: bool = False
    show_secrets: bool = False

    @property
    def paint(self) -> plain.Paint:
        return plain.paint(self.color)

    @property
    def width(self) -> int:
        """Columns to fill. Results in a pipe are not cut for a terminal, but a thousand clusters are still folded."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else 240

    @property
    def fold(self) -> int | None:
        """Columns that a line may take; None for a pipe: a program that searches wants each row in one line."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where credentials of clusters come from."""

    kubeconfig: Path | None = None
    credentials_dir: Path | None = None
    allow_exec: bool = False


@dataclass(frozen=True, slots=True)
class Server:
    """The hub that is asked in place of a repository: where it is, and who asks (`load.hub`)."""

    url: str
    """ "" where `context` says it."""
    context: str
    authority: Path | None
    certificate: Path | None
    key: Path | None
    token: Path | None
    kubeconfig: Path | None = None


GIT_CREDENTIALS = option(
    "--git-credentials",
    type=Files(exists=True, file_okay=False),
    metavar="DIR",
    help="Folder of what the repository's server needs: password, bearerToken, identity, known_hosts, ca.crt, …",
)
SUBMODULES = option(
    "--submodules",
    multiple=True,
    metavar="URL",
    help="Read submodules whose URL begins with this; may be repeated. Others are not read.",
)
TRUSTED_KEYS = option(
    "--trusted-keys",
    type=Files(exists=True, file_okay=False),
    metavar="DIR",
    help="Apply only commits signed with a public key of this folder (PGP or SSH); beats spec.sources.verify.keys.",
)
NOTIFY_DIR = option(
    "--notify-dir",
    type=Files(exists=True, file_okay=False),
    metavar="DIR",
    help="Where notifications go: a folder NAME for each target, with url, bearerToken, ca.crt; read again each time.",
)
STATE_KEY = option(
    "--state-key",
    type=Files(dir_okay=False),
    metavar="FILE",
    help="The private SSH key that signs what is written on the state branch; replicas share it.  "
    "[default: made once in --data-dir]",
)
ALLOW_EXEC = option(
    "--allow-exec-credentials",
    is_flag=True,
    help="Let a kubeconfig start programs (exec, auth-provider) on this machine.",
)
WAIT = option("--wait", shared=False, is_flag=True, help="Wait until the daemon has carried it out.")
WAIT_TIMEOUT = option(
    "--timeout",
    shared=False,
    type=Duration(),
    default="5m",
    show_default=True,
    metavar="DURATION",
    help="How long to wait.",
)
_SOURCE = (
    option("--repo", metavar="PATH|URL", default="", shell_complete=complete.folders,
           help="The repository: a path, or a URL (https, ssh, git, file).  [default: the one around this folder]"),
    GIT_CREDENTIALS,
    SUBMODULES,
    option("--rev", metavar="REV", default="", shell_complete=complete.revisions,
           help="The commit to read: a branch, a tag, a commit.  [default: HEAD]"),
    option("--worktree", is_flag=True, help="Read the files as they are on disk, uncommitted changes included."),
)  # fmt: skip
_FACTS = (
    option("--fleet", type=Files(exists=True, dir_okay=False), metavar="FILE",
           help="Facts: Cluster documents with status. Beats --live, and that the facts branch."),
    option("--decisions", type=Files(exists=True, dir_okay=False), metavar="FILE",
           help="Past decisions: ResourceBinding documents. Beats the state branch."),
    option("--now", type=Rfc3339(), metavar="RFC3339", help="Plan for this time, for results that can be repeated."),
)  # fmt: skip
_LIVE = (option("--live", is_flag=True, help="Read the clusters: their facts, and what is in them."),)
_CREDENTIALS = (
    option("--kubeconfig", type=Files(exists=True, dir_okay=False), metavar="FILE",
           help="kubeconfig with one context per cluster.  [default: KUBECONFIG]"),
    option("--credentials-dir", type=Files(exists=True, file_okay=False), metavar="DIR",
           help="Folder of mounted Secrets: NAMESPACE/NAME/token, …/caBundle."),
    ALLOW_EXEC,
)  # fmt: skip
_WHO_ASKS = "Who asks: one of the files below, or the context of --kubeconfig that is for it."
_WHICH_HUB = option("--server", metavar="URL", default="",
                    help=f"Ask the hub at https://HOST:PORT in place of a repository. {_WHO_ASKS}")  # fmt: skip
_WHICH_HUB_OR_DOORS = option(
    "--server", metavar="URL", default="",
    help=f"Ask the hub at https://HOST:PORT in place of a repository; with --live read the clusters through its doors. "
    f"{_WHO_ASKS}")  # fmt: skip
_WHOSE_DOORS = option(
    "--server", metavar="URL", default="",
    help=f"Read clusters through the doors of the hub at https://HOST:PORT, pulled ones too. {_WHO_ASKS}")  # fmt: skip
_HOW_TO_ASK = (
    option("--context", metavar="NAME", default="", shell_complete=complete.contexts,
           help="The context of --kubeconfig that says where the hub is, and who asks."),
    option("--certificate-authority", type=Files(exists=True, dir_okay=False), metavar="FILE",
           help="Certificates to know the hub by.  [default: the machine's, or those of the context]"),
    option("--client-certificate", type=Files(exists=True, dir_okay=False), metavar="FILE",
           help="The certificate that says who asks the hub, with --client-key."),
    option("--client-key", type=Files(exists=True, dir_okay=False), metavar="FILE", help="Its key."),
    option("--token-file", type=Files(exists=True, dir_okay=False), metavar="FILE",
           help="A file with the token that says who asks the hub."),
)  # fmt: skip
_HUB_KUBECONFIG = option(
    "--kubeconfig",
    type=Files(exists=True, dir_okay=False),
    metavar="FILE",
    help="kubeconfig with a context for the hub, as gitfed kubeconfig prints it.  [default: KUBECONFIG]",
)
_OWN_WAYS = ("credentials_dir", "allow_exec_credentials")
_OF_A_REPOSITORY = ("repo", "git_credentials", "submodules", "rev", "worktree", "fleet", "decisions", "now",
                    *_OWN_WAYS)  # fmt: skip


def source(command: Command) -> Command:
    """--repo, --git-credentials, --rev, --worktree → `inputs: Inputs`."""
    return gathered(command, "inputs", _SOURCE, _inputs)


def facts(command: Command) -> Command:
    """The source, and --fleet, --decisions, --now → `inputs: Inputs`."""
    return gathered(command, "inputs", (*_SOURCE, *_FACTS), _inputs)


def facts_or_live(command: Command) -> Command:
    """The same with --live → `inputs: Inputs`."""
    return gathered(command, "inputs", (*_SOURCE, *_FACTS, *_LIVE), _inputs)


def credentials(command: Command) -> Command:
    """--kubeconfig, --credentials-dir, --allow-exec-credentials → `credentials: Credentials`."""
    return gathered(command, "credentials", _CREDENTIALS, _credentials)


def credentials_to_keep(command: Command) -> Command:
    """The same for a command that writes into the folder: the first one makes it."""
    folder = option(
        "--credentials-dir",
        type=Files(file_okay=False),
        metavar="DIR",
        help="Folder where the token is kept; it is made if need be.",
    )
    return gathered(command, "credentials", (_CREDENTIALS[0], folder, *_CREDENTIALS[2:]), _credentials)


def server(command: Command) -> Command:
    """--server, --context, --certificate-authority, … → `server: Server | None`; for commands with `credentials`."""
    return gathered(command, "server", (_WHICH_HUB, *_HOW_TO_ASK), _server)


def server_or_doors(command: Command) -> Command:
    """The same for commands that have --live: with it the hub is one whose doors lead into the clusters."""
    return gathered(command, "server", (_WHICH_HUB_OR_DOORS, *_HOW_TO_ASK), _server)


def doors(command: Command) -> Command:
    """The same for commands that read a repository in any case, and clusters through the hub's doors. What the
    environment says counts with --live only."""
    return gathered(command, "server", (_WHOSE_DOORS, *_HOW_TO_ASK), _doors)


def server_alone(command: Command) -> Command:
    """The same with --kubeconfig, for commands that ask no cluster."""
    return gathered(command, "server", (_WHICH_HUB, *_HOW_TO_ASK, _HUB_KUBECONFIG), _server)


_CHOICES: dict[str, Any] = {"type": click.Choice(["auto", "always", "never"]), "default": "auto",
            "help": "Progress on stderr; auto: on a terminal."}  # fmt: skip
_PROGRESS = option("--progress", **_CHOICES)
PROGRESS = option("--progress", expose_value=False, callback=lambda _, __, choice: progress.begin(choice), **_CHOICES)
"""For commands without `output`."""


def output(*formats: str, secrets: bool = False) -> Callable[[Command], Command]:
    """-o, --color, --progress, --quiet and for some --show-secrets → `output: Output`."""
    options = [
        option(
            "-o",
            "--output",
            "format_",
            type=click.Choice(formats),
            default=formats[0],
            show_default=True,
            help="How to print the result.",
        ),
        option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Colours; auto: on a terminal, unless NO_COLOR is set.",
        ),
        _PROGRESS,
        option("-q", "--quiet", is_flag=True, help="Totals only."),
    ]
    if secrets:
        options.append(option("--show-secrets", is_flag=True, help="Print Secrets unmasked; only to a terminal."))
    return lambda command: gathered(command, "output", tuple(options), _output)


def _inputs(values: Mapping[str, Any]) -> Inputs:
    if values["worktree"] and values["rev"]:
        raise click.UsageError("--worktree reads the files on disk: it cannot be used with --rev")
    if values.get("fleet") and values.get("live"):
        # Not an error: the contract says which wins. It is said, because the clusters are then not asked for facts.
        click.echo("note: --fleet beats --live: facts come from the file", err=True)
    return Inputs(**values)


_FILES = ("certificate_authority", "client_certificate", "client_key", "token_file")


def _server(values: Mapping[str, Any]) -> Server | None:
    """None: the repository is read. What is typed beats the environment: `gitfed get clusters --repo .` means the
    repository also where GITFED_SERVER is set."""
    context = click.get_current_context()
    if context.params.get("live"):
        return _doors(values)
    if not _is_named(values):
        return None
    for name in _typed(_OF_A_REPOSITORY):
        if not _typed(("server", "context")):
            return None
        raise click.UsageError(f"--{name.replace('_', '-')} is about a repository: a hub has its own (--server)")
    return _hub(values)


def _doors(values: Mapping[str, Any]) -> Server | None:
    """None: clusters are reached by the caller's own credentials."""
    context = click.get_current_context()
    typed = _typed(("server", "context"))
    if not _is_named(values) or not (typed or context.params.get("live")):
        return None
    for name in _typed(_OWN_WAYS):
        if not typed:
            return None
        raise click.UsageError(f"--{name.replace('_', '-')} is for clusters that are reached without a hub (--server)")
    return _hub(values)


def _is_named(values: Mapping[str, Any]) -> bool:
    """Whether a hub is. Raises UsageError where something is said of one that is not."""
    if values["server"] or values["context"]:
        return True
    for name in _typed(_FILES):
        raise click.UsageError(f"--{name.replace('_', '-')} is about a hub: --server says where it is")
    return False


def _hub(values: Mapping[str, Any]) -> Server:
    typed = _typed(("server", "context"))
    url = "" if "context" in typed and "server" not in typed else values["server"]
    files = [values[name] for name in _FILES]
    return Server(url, values["context"], files[0], files[1], files[2], files[3], values.get("kubeconfig"))


def _typed(names: Iterable[str]) -> list[str]:
    """Those of these parameters that stand on the command line."""
    context = click.get_current_context()
    return [name for name in names if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]


def _credentials(values: Mapping[str, Any]) -> Credentials:
    return Credentials(values["kubeconfig"], values["credentials_dir"], values["allow_exec_credentials"])


def _output(values: Mapping[str, Any]) -> Output:
    if values.get("show_secrets") and not sys.stdout.isatty():
        raise click.UsageError("--show-secrets is refused: stdout is not a terminal")
    named = dict(values)
    progress.begin(named.pop("progress"))
    return Output(format=named.pop("format_"), **named)
