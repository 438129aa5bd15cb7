"""What autoscalers decided, on the state branch: one file for each under `autoscalers/`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitfed.documents import autoscalers
from gitfed.errors import InputError
from gitfed.model.base import ObjectKey, Origin, Problem
from gitfed.model.scaling import AutoscalerRecord
from gitfed.text import emit

DIRECTORY = autoscalers.DIRECTORY


def read(
    blobs: Mapping[str, str], load: Callable[[str], Mapping[str, Any]], branch: str
) -> tuple[dict[ObjectKey, AutoscalerRecord], list[Problem]]:
    """Of the files of a commit (path → blob) those that are autoscalers; what cannot be read is said."""
    records: dict[ObjectKey, AutoscalerRecord] = {}
    problems: list[Problem] = []
    for path in sorted(blobs):
        if not path.startswith(DIRECTORY):
            continue
        try:
            record = autoscalers.record_of(load(blobs[path]))
        except InputError as error:
            hint = "the rest of the state is used; its target gets what its template says until a rule runs"
            problems.append(Problem(Origin(f"{branch}:{path}"), error.message, hint))
            continue
        records[record.key] = record
    return records, problems


def files(
    before: Mapping[ObjectKey, AutoscalerRecord], after: Mapping[ObjectKey, AutoscalerRecord]
) -> dict[str, bytes | None]:
    """What differs, by path; None for what is gone. Records that nothing became of are the same objects."""
    contents: dict[str, bytes | None] = {autoscalers.path_of(key): None for key in before.keys() - after.keys()}
    for key, record in after.items():
        if before.get(key) is not record:
            contents[autoscalers.path_of(key)] = emit.dump(autoscalers.document(record)).encode()
    return contents
