"""The command `gitfed`: which commands there are, and what becomes of an error.

Importing this module imports click and nothing else of weight: no pydantic, no Git, no Kubernetes client. The short
help of every command stands here, so that `gitfed --help` imports no command at all.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import keyword
import os
import re
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from types import TracebackType

import click

from gitfed import __version__
from gitfed.cli import broken_pipe, exits
from gitfed.errors import GitfedError

_GROUPS = {
    "Look": {
        "validate": "Say everything that is wrong with a repository.",
        "plan": "Show what a commit would do to the fleet.",
        "diff": "Compare two commits: placement and manifests.",
        "review": "Say in a pull request what its merge would do.",
        "test": "Try the placement tests of the repository.",
        "render": "Print the manifests of each cluster.",
        "explain": "Say why an object goes where it goes.",
        "interpret": "Check, try and compare the rules that say what kinds mean.",
        "log": "Show what was decided, when and why.",
        "blame": "Say which commit and which facts gave each cluster its share.",
        "replay": "Decide again, and prove that it gives the same bytes.",
        "get": "List clusters, bindings, policies, problems, works, orphans, events; with -C any kind in clusters.",
        "simulate": "Rehearse a failover on a virtual clock.",
        "top": "Show how full clusters or their nodes are, and what pods use.",
    },
    "Clusters' objects": {
        "describe": "Describe objects of one cluster.",
        "logs": "Print what a container of one cluster says.",
        "exec": "Run a program in a container of one cluster.",
        "attach": "Attach to what runs in a container of one cluster.",
        "port-forward": "Lead ports of this machine to a pod of one cluster.",
        "api-resources": "List the kinds that one cluster has.",
    },
    "Do": {
        "apply": "Carry out one plan.",
        "rollback": "Prepare the revert of a commit, and show what it would do.",
        "run": "Keep the fleet equal to the repository.",
        "agent": "Keep one cluster that the daemon cannot reach, from inside of it.",
        "hub": "Show what the daemon decided, without being one.",
        "approve": "Let through what gates hold, of exactly the plan that waits.",
        "reconcile": "Have the daemon look at everything anew, now.",
        "reschedule": "Have the daemon decide anew where workloads go.",
        "suspend": "Stop writing to an object, a cluster, or everything.",
        "resume": "Take back what suspend ordered.",
        "notify": "Show what notifications would say now, or send a test.",
        "state": "Say whose decisions on the state branch count.",
        "orphans": "Delete or adopt what nothing asks for any more.",
    },
    "Clusters": {
        "join": "Bring a cluster into the fleet.",
        "unjoin": "Take a cluster out of the fleet, with or without its objects.",
        "register": "Bring a cluster into the fleet that only an agent inside of it can reach.",
        "unregister": "Take a cluster out of the fleet that an agent pulls for.",
        "rbac": "Print the least rights that gitfed needs in a cluster.",
        "token": "Make, list and delete tokens that let clusters register.",
        "cordon": "Let no new work into a cluster.",
        "uncordon": "Let new work into a cluster again.",
        "taint": "Put taints on clusters, or take them away.",
    },
    "Move in": {
        "import": "Bring a cluster, Karmada or KubeFed into the repository.",
        "promote": "Take one object of a cluster into the repository.",
    },
    "Try": {
        "init": "Make a fleet repository.",
        "demo": "Watch a fleet follow a repository, on this machine alone.",
        "sim": "Run clusters inside this process.",
    },
    "More": {
        "config": "Show settings and where they come from.",
        "kubeconfig": "Make a credential for the hub.",
        "schema": "Print the JSON Schema of a kind.",
        "completion": "Print a completion script for a shell.",
        "version": "Print the version.",
    },
}
_COMMANDS = {name: text for group in _GROUPS.values() for name, text in group.items()}
_FOLDERS = {"Look": "look", "Clusters' objects": "members", "Do": "act", "Clusters": "clusters",
            "Move in": "moving", "Try": "local", "More": "more"}  # fmt: skip
_MODULES = {
    # Python's own words cannot be names of modules that others import.
    name: f"gitfed.cli.commands.{_FOLDERS[title]}.{name.replace('-', '_')}{'_' if keyword.iskeyword(name) else ''}"
    for title, commands in _GROUPS.items()
    for name in commands
}

SETTINGS = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "GITFED", "max_content_width": 100}


class Commands(click.Group):
    """Commands by name, imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        # What is imported stays: looking for garbage in it while it comes in is a tenth of a short command's time.
        gc.disable()
        command: click.Command = import_module(_MODULES[cmd_name]).command
        gc.freeze()
        gc.enable()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in _COMMANDS and not ctx.resilient_parsing:
            ctx.fail(f"no such command {name!r}{meant(name, _COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in _GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        names = [
            click.shell_completion.CompletionItem(name, help=text)
            for name, text in _COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names or click.Command.shell_complete(self, ctx, incomplete)


@click.command(cls=Commands, context_settings=SETTINGS, no_args_is_help=True)
@click.option("--debug", is_flag=True, help="On an error, show where it happened.  [env: GITFED_DEBUG]")
@click.version_option(__version__, prog_name="gitfed", message="%(prog)s %(version)s")
def cli(debug: bool) -> None:
    """Keep a fleet of Kubernetes clusters equal to a Git repository.

    \b
    gitfed init fleet && cd fleet         make a repository
    gitfed validate                       say what is wrong with it
    gitfed plan                           say which cluster would get what, and why
    gitfed diff main..HEAD                say what a branch would change

    Every option can be given by an environment variable: options that several commands share as GITFED_<OPTION>
    (GITFED_REPO for --repo), others as GITFED_<COMMAND>_<OPTION>.

    \b
    Exit codes: 0 done · 1 there are differences, or a test or a replay failed · 2 bad usage ·
    3 invalid input in the repository · 4 source or cluster unreachable · 5 a gate held something ·
    6 applied but not healthy in time · 130 interrupted.
    """
    if debug:
        os.environ["GITFED_DEBUG"] = "1"


def meant(name: str, candidates: Sequence[str] | dict[str, str]) -> str:
    """` (did you mean x?)`, or nothing."""
    import difflib

    close = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. Always ends the process by SystemExit with a code of `exits`."""
    sys.excepthook = _defect
    # A process may be started without streams (`>&-`): then there is no reader, and nothing else changes.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stdout = broken_pipe.outlasting_its_reader(sys.stdout)
    code = run(arguments)
    if code == exits.INTERRUPTED:
        _leave_threads()
    sys.exit(code)


def _leave_threads() -> None:
    """End the process where daemon threads are left: one reads from a connection, and TLS may not let go of it while
    Python ends."""
    others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
    if others and all(thread.daemon for thread in others):
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(exits.INTERRUPTED)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line; errors become one line on stderr and a code."""
    # Validation plugins that happen to be installed have no business here, and pydantic would search every package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    if os.environ.get("_GITFED_COMPLETE", "").startswith("powershell"):
        from gitfed.cli.commands.more import completion

        completion.register()
    try:
        result = cli.main(
            args=None if arguments is None else list(arguments), prog_name="gitfed", standalone_mode=False
        )
        return result if isinstance(result, int) else exits.OK
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        return _usage(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return exits.INTERRUPTED
    except (GitfedError, OSError, BaseExceptionGroup) as error:
        return _failed(error)


def _usage(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        # What it carries is the whole help page, no message of one line.
        click.echo(error.ctx.get_help(), err=True)
        return exits.USAGE
    context = getattr(error, "ctx", None)
    # click breaks its list of choices over lines.
    _say(error.format_message().replace("\n\t", " "))
    if context is not None:
        if advice := _advice(context, error.message):
            click.echo(f"hint: {_clean(advice)}", err=True)
        click.echo(f"{context.get_usage()}\nTry '{context.command_path} --help'.", err=True)
    return exits.USAGE


def _advice(context: click.Context, message: str) -> str:
    """A revision stands after --rev, where Git's own commands take it as it is; "" when that is not the mistake."""
    extra = re.match(r"Got unexpected extra arguments? \((.*)\)$", message, re.S)
    if extra is None or not any(parameter.name == "rev" for parameter in context.command.params):
        return ""
    if any(isinstance(parameter, click.Argument) for parameter in context.command.params) or " " in extra[1]:
        return "a commit is named with --rev"
    return f"if it is a commit: {context.command_path} --rev {extra[1]}"


def _failed(error: BaseException) -> int:
    if os.environ.get("GITFED_DEBUG"):
        _trace(error)
    if isinstance(error, BaseExceptionGroup):
        expected, unexpected = error.split((GitfedError, OSError, KeyboardInterrupt))
        if unexpected is not None:
            raise error
        for inner in expected.exceptions if expected is not None else ():
            _failed(inner)
        return exits.of(error)
    if isinstance(error, OSError):
        # A stream has no name: `> /dev/full`.
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        where = f"{error.filename}: " if error.filename else "what is to be printed cannot be written: " if full else ""
        _say(f"{where}{error.strerror or error}")
        return exits.USAGE
    if isinstance(error, GitfedError):
        _say(error.message)
        if error.hint:
            click.echo(f"hint: {_clean(error.hint)}", err=True)
    return exits.of(error)


def _trace(error: BaseException) -> None:
    import traceback

    traceback.print_exception(error)


def _say(message: str) -> None:
    click.echo(f"error: {_clean(message)}", err=True)


def _clean(message: str) -> str:
    from gitfed.cli.output import plain

    return plain.clean(message)


def _defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An unforeseen error is gitfed's defect, and must not exit with 1, which `diff` uses for an answer."""
    if os.environ.get("GITFED_DEBUG"):
        _trace(error)
    click.echo(f"error: a defect of gitfed: {kind.__name__}: {_clean(str(error))}", err=True)
    click.echo("hint: run it again with GITFED_DEBUG=1 and report what it prints", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exits.DEFECT)
