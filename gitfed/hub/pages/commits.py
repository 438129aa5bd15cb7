"""`/ui/commits`: what each commit of the repository decided, moved and held, as the state branch tells it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from aiohttp import web

from gitfed.documents.state_commits import Act
from gitfed.edges import git
from gitfed.edges.git.history import CommitInfo
from gitfed.errors import SourceError
from gitfed.hub import routes
from gitfed.hub.access.rights import Right
from gitfed.hub.answers import timeline
from gitfed.hub.answers.desk import Desk
from gitfed.hub.answers.moment import Moment
from gitfed.hub.answers.sight import Sight
from gitfed.hub.pages import paging
from gitfed.hub.pages.frame import Frame
from gitfed.hub.routes import Route
from gitfed.text.values import dataclass
from gitfed.views.history import EntryView

_USUAL, _MOST = 40, 400
"""Commits of the state branch that are read."""
_FIRST = 6
"""Reasons of one that are seen at once."""


class StateCommit(NamedTuple):
    """One commit of the state branch."""

    entry: EntryView
    mark: str
    words: str
    first: tuple[str, ...]
    rest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SourceCommit:
    """A commit of the repository, and what followed from it; `commit` "": what a person ordered."""

    commit: str
    subject: str
    author: str
    in_force: bool
    steps: tuple[StateCommit, ...]


def route(frame: Frame, desk: Desk) -> Route:
    async def show(request: web.Request) -> web.StreamResponse:
        now = desk.now()
        most = min(_MOST, paging.number(request, "most", _USUAL))
        sources: tuple[SourceCommit, ...] = ()
        read = 0
        if now is not None:
            sight = desk.sight(routes.rights(request), now)
            try:
                sources, read = await desk.aside(lambda: _look(now, sight, most))
            except SourceError as error:
                raise web.HTTPServiceUnavailable(text="the state branch cannot be read now") from error
        older = min(_MOST, most * 2) if read == most and most < _MOST else 0
        return frame.page(request, "commits.html", sources=sources, older=older)

    return Route("GET", "/ui/commits", show, needs=Right.VIEW)


def _look(now: Moment, sight: Sight, most: int) -> tuple[tuple[SourceCommit, ...], int]:
    entries = timeline.decisions(now, sight, None, most)["entries"]
    # What people wrote speaks of whatever the commit is about.
    told = _written(now, {_source(entry) for entry in entries} - {""}) if sight.everything else {}
    sources = []
    for name, steps in groupby(entries, key=_source):
        info = told.get(name)
        sources.append(
            SourceCommit(
                name,
                info.subject if info is not None else "",
                info.author.partition(" <")[0] if info is not None else "",
                bool(name) and now.repo.commit.startswith(name),
                tuple(_step(now, entry) for entry in steps),
            )
        )
    return tuple(sources), len(entries)


def _source(entry: EntryView) -> str:
    """The commit that it is about; "" of an order."""
    return entry["source"] or entry["named"]


def _written(now: Moment, names: Iterable[str]) -> dict[str, CommitInfo]:
    """Commits of the repository by the names that the state branch has for them, as far as they are here."""
    if now.engine is None:
        path = now.clone
    else:
        path = now.engine.reader.repository.path
    if path is None:
        return {}
    infos = {}
    repository = git.Repository.open(path)
    try:
        for name in names:
            try:
                infos[name] = repository.info(repository.resolve(name))
            except SourceError:
                continue  # a history that was rewritten
    finally:
        repository.close()
    return infos


def _step(now: Moment, entry: EntryView) -> StateCommit:
    act = entry["act"]
    mark, text = _MARKS[Act(act)] if act is not None else ("event", entry["what"])
    reasons = [now.hidden.text(reason) for reason in entry["reasons"]]
    if act not in (None, Act.DECIDED):
        reasons = [", ".join(reasons)] if reasons else []  # a word for each cluster
    first = _FIRST if len(reasons) > _FIRST + 1 else len(reasons)
    return StateCommit(entry, mark, text, tuple(reasons[:first]), tuple(reasons[first:]))


_MARKS = {
    Act.DECIDED: ("move", "Decided"),
    Act.APPLIED: ("ok", "Applied"),
    Act.HELD: ("held", "Held"),
    Act.FAILED: ("bad", "Failed"),
    Act.STATUS: ("dot", "Status recorded"),
}
"""By what an engine did; the rest are orders."""
