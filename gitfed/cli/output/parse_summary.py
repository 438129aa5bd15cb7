"""Folders that hold no objects: of three hundred errors in one of them a reader needs one line.

Every error is listed all the same, for gitfed cannot know whether the folder was meant. This adds what they have in
common, and the setting that leaves the folder out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gitfed.cli.output import formatting
from gitfed.model.base import Problem, Severity
from gitfed.model.repo import RepoSnapshot

_MANY = 10


def remarks(repo: RepoSnapshot, problems: Sequence[Problem]) -> list[str]:
    """One sentence for each folder with many errors and nothing that is used, the largest folders without any."""
    used = {manifest.origin.path for manifest in repo.manifests.values()}
    used |= {origin.path for origin in repo.origins.values()} | {repo.settings.origin.path}
    alive = {folder for path in used for folder in _above(path)}
    errors = Counter(problem.origin.path for problem in problems if problem.severity is Severity.ERROR)
    unused: Counter[str] = Counter()
    for path, count in errors.items():
        dead = next((folder for folder in _above(path) if folder not in alive), None)
        if dead is not None:
            unused[dead] += count
    return [
        f"{formatting.count(count, 'error')} in {folder}/, and no object: if it holds no manifests, "
        f"spec.sources.exclude: [{json.dumps(f'{folder}/**')}] leaves it out"
        for folder, count in sorted(unused.items())
        if count >= _MANY
    ]


def _above(path: str) -> Iterator[str]:
    """The folders that a file is in, from the top."""
    parts: Iterable[str] = path.split("/")[:-1]
    folder = ""
    for part in parts:
        folder = f"{folder}/{part}" if folder else part
        yield folder
