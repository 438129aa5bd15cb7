"""Commands that change desired state: they write a file of the checkout, and say or make the commit.

Nothing reaches a cluster from here. What is written is what a person would have written, in a file that keeps its form;
the daemon acts on it once it is pushed.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitfed.cli import complete, load, main, parameters
from gitfed.cli.output import plain
from gitfed.errors import UsageError
from gitfed.model.base import ObjectKey, Origin
from gitfed.model.declared.cluster import Cluster
from gitfed.text import edit
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.repo import RepoSnapshot
    from gitfed.offline.inputs import Opened

_Command = TypeVar("_Command", bound=Any)

_GROUP = "cluster.karmada.io"
_MOST = 20
"""Paths of one command that are named one by one for git."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Where a command writes a file, and how far it goes."""

    repo: str
    commit: bool
    message: str
    dry_run: str | None


def writing_into(default: str) -> Callable[[_Command], _Command]:
    """--repo, --commit, --message and --dry-run of a command that writes a file → `writing: WriteOptions`. `default`
    says which checkout it is without --repo."""
    options = (
        parameters.option(
            "--repo",
            metavar="PATH",
            default="",
            shell_complete=complete.folders,
            help=f"The checkout.  [default: {default}]",
        ),
        parameters.option("--commit", is_flag=True, shared=False, help="Make the commit too."),
        parameters.option(
            "-m",
            "--message",
            shared=False,
            metavar="TEXT",
            default="",
            help="The commit's message.  [default: what was done]",
        ),
        parameters.option(
            "--dry-run",
            shared=False,
            type=click.Choice(["client"]),
            default=None,
            help="Print what would change, and write nothing.",
        ),
    )

    def decorate(command: _Command) -> _Command:
        command = parameters.value("writing", WriteOptions)(command)
        for add in reversed(options):
            command = add(command)
        return command

    return decorate


writing = writing_into("the one around this folder")
"""Of most commands that write a file."""


@dataclass(slots=True)
class Checkout:
    """The files as they are on disk, uncommitted changes included."""

    root: Path
    opened: Opened
    repo: RepoSnapshot
    changed: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """Path → text before and after; None: no such file."""

    def cluster(self, name: str) -> Cluster:
        """Raises UsageError for a name that is not declared."""
        clusters = self.repo.clusters
        if name not in clusters:
            raise UsageError(f"no cluster {name!r}{main.meant(name, list(clusters))}", hint="gitfed get clusters")
        return clusters[name]

    def origin(self, name: str) -> Origin:
        return self.repo.origins[ObjectKey(_GROUP, "Cluster", "", name)]

    def text(self, path: str) -> str | None:
        if path in self.changed:
            return self.changed[path][1]
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def put(self, path: str, text: str | None) -> None:
        """What the file is to hold; None: it goes."""
        before = self.changed[path][0] if path in self.changed else self.text(path)
        self.changed[path] = (before, text)

    def edit_cluster(self, name: str, how: edit.Change) -> None:
        """Change the declaration where it stands, alone or in a list."""
        place = self.origin(name)

        def inside(document: Any) -> None:
            how(_declaration(document, name))

        self.put(place.path, edit.change(self.text(place.path) or "", place.line, inside))

    def drop_cluster(self, name: str) -> None:
        """Take the declaration out; a file that holds nothing else goes."""
        place = self.origin(name)
        text = self.text(place.path) or ""
        in_list = False

        def without(document: Any) -> None:
            nonlocal in_list
            items = _items(document)
            if items is not None:
                in_list = True
                items[:] = [item for item in items if not _is_cluster(item, name)]

        changed = edit.change(text, place.line, without)
        self.put(place.path, changed if in_list else edit.remove(text, place.line) or None)


def open_checkout(path: str) -> Checkout:
    """The checkout at or around a path. Raises UsageError where there are no files to change, SourceError."""
    from gitfed.offline import inputs

    opened = inputs.open_repository(path)
    load.close_later(opened)
    if opened.root is None:
        raise UsageError(f"{plain.clean(opened.name)} has no files to change", hint="run this in a checkout")
    repo = inputs.read(opened, worktree=True).repo
    return Checkout(opened.root, opened, repo)


def finish(checkout: Checkout, usual: str, writing: WriteOptions) -> None:
    """Write what changed, and make the commit or say how; with --dry-run print the difference instead. `usual`: the
    commit's message where none was given."""
    message = writing.message or usual
    changed = _changed(checkout)
    if writing.dry_run:
        for path, (before, after) in sorted(changed.items()):
            click.echo(_difference(path, before, after), nl=False)
        return
    for path, (_, after) in sorted(changed.items()):
        _put(checkout.root / path, after)
        click.echo(f"{'removed' if after is None else 'wrote'} {plain.clean(path)}", err=True)
    if not changed:
        return
    paths = sorted({*changed, *_settings_left(checkout)})
    if writing.commit:
        made = checkout.opened.repository.commit_paths(paths, message)
        click.echo(f"committed {made[:12]}: {plain.clean(message)}", err=True)
        click.echo("Next: git push", err=True)
    else:
        names = " ".join(shlex.quote(path) for path in _told(paths))
        click.echo(f"Next: git add -A -- {names} && git commit -m {shlex.quote(message)} && git push", err=True)


def _settings_left(checkout: Checkout) -> Sequence[str]:
    """The settings, where `gitfed init` wrote them and they are not committed: a commit without them is no fleet."""
    path = checkout.repo.settings.origin.path
    return (path,) if path and not checkout.opened.repository.is_committed(path) else ()


def _told(paths: Sequence[str]) -> Sequence[str]:
    """Of many paths the entries of the root that they lie in: hundreds make a line too long to read."""
    return paths if len(paths) <= _MOST else sorted({path.partition("/")[0] for path in paths})


def check_proposes(checkout: Checkout) -> str:
    """Where branches are pushed to. Raises UsageError when that is nowhere."""
    url = checkout.opened.repository.remote_url("origin")
    if url is None:
        raise UsageError(
            f"{plain.clean(checkout.opened.name)} has no remote origin to push a branch to",
            hint="--commit makes the commit here",
        )
    return url


def propose(checkout: Checkout, message: str, branch: str) -> None:
    """Push what changed as one commit on a branch of its own, and say where a pull request is opened. The checkout
    stays as it is: the file comes with the merge. Raises UsageError, SourceError, SourceUnreachable."""
    from gitfed.edges import forge, git

    url, repository, changed = check_proposes(checkout), checkout.opened.repository, _changed(checkout)
    if not changed:
        return
    try:
        for path, (_, after) in changed.items():
            _put(checkout.root / path, after)
        made = repository.commit_aside(sorted(changed), message)
    finally:
        for path, (before, _) in changed.items():
            _put(checkout.root / path, before)
    ref = f"refs/heads/{branch}"
    repository.push(url, ref, expected=repository.remote_refs(url, ref).get(ref), commit=made)
    click.echo(f"pushed {made[:12]} to branch {branch} of {plain.clean(git.shown(url))}", err=True)
    page = forge.proposal_page(url, branch)
    click.echo(f"Next: open a pull request{f': {plain.clean(page)}' if page else f' of branch {branch}'}", err=True)


def _changed(checkout: Checkout) -> dict[str, tuple[str | None, str | None]]:
    return {path: both for path, both in checkout.changed.items() if both[0] != both[1]}


def _put(place: Path, text: str | None) -> None:
    from gitfed.edges import files

    if text is None:
        place.unlink(missing_ok=True)
        return
    mode = place.stat().st_mode & 0o777 if place.exists() else 0o644
    place.parent.mkdir(parents=True, exist_ok=True)
    files.write_atomically(place, text.encode(), mode=mode)


def now() -> str:
    """For fields of declared objects that hold a time."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _difference(path: str, before: str | None, after: str | None) -> str:
    return "".join(
        plain.clean(line.rstrip("\n")) + "\n"
        for line in difflib.unified_diff(
            (before or "").splitlines(keepends=True),
            (after or "").splitlines(keepends=True),
            f"a/{path}" if before is not None else "/dev/null",
            f"b/{path}" if after is not None else "/dev/null",
        )
    )


def _declaration(document: Any, name: str) -> Any:
    items = _items(document)
    return document if items is None else next(item for item in items if _is_cluster(item, name))


def _items(document: Any) -> Any:
    return document.get("items") if str(document.get("kind") or "").endswith("List") else None


def _is_cluster(document: Any, name: str) -> bool:
    return document.get("kind") == "Cluster" and (document.get("metadata") or {}).get("name") == name
