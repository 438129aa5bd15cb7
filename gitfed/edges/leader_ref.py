"""The leader's lock where there is no cluster to keep it: a ref of the state's repository, `refs/gitfed/leader`.

Git's push is a compare-and-swap, so of two candidates one wins. The ref has no history: each renewal replaces the last
one, and no branch grows. It is renewed far less often than a Lease: every renewal is a push.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from gitfed import errors
from gitfed.edges.git import Repository
from gitfed.model.base import Commit
from gitfed.model.leader import Lead
from gitfed.text import emit, moment, yaml
from gitfed.text.construct import YamlError

REF = "refs/gitfed/leader"
_FILE = "leader.yaml"


class RefLock:
    """Implements `election.Lock`. `url`: a path or an address that can be pushed to."""

    def __init__(self, repository: Repository, url: str) -> None:
        self._repository = repository
        self._url = url
        self._tip: Commit | None = None

    async def close(self) -> None:
        """Nothing is open between two questions."""

    def __str__(self) -> str:
        return f"{REF} of the state's repository"

    async def read(self) -> Lead | None:
        """What it says now; None: no daemon ever led. Raises SourceError."""
        return await asyncio.to_thread(self._read)

    async def write(self, lead: Lead) -> bool:
        """Store it if no other daemon wrote since `read`. Raises SourceError."""
        return await asyncio.to_thread(self._write, lead)

    def _read(self) -> Lead | None:
        self._tip = self._repository.remote_refs(self._url, REF).get(REF)
        if self._tip is None:
            return None
        if self._repository.branch_commit(REF) != self._tip:
            self._repository.fetch(self._url, [f"+{REF}:{REF}"])
        entry = self._repository.entries(self._tip).get(_FILE)
        try:
            document: Any = yaml.load_all(self._repository.read(entry.blob_id))[0] if entry is not None else None
            if not isinstance(document, Mapping):
                return Lead("", 0, _LONG_AGO, _LONG_AGO)
            acquired, renewed = (moment.read(document[name]) or _LONG_AGO for name in ("acquired", "renewed"))
            return Lead(str(document["holder"]), int(document["seconds"]), acquired, renewed)
        except (YamlError, KeyError, TypeError, ValueError, OverflowError, IndexError):
            # Edited by hand: no daemon leads by that, so the next candidate may.
            return Lead("", 0, _LONG_AGO, _LONG_AGO)

    def _write(self, lead: Lead) -> bool:
        text = emit.dump(
            {
                "holder": lead.holder,
                "seconds": lead.seconds,
                "acquired": lead.acquired.astimezone(UTC).isoformat(),
                "renewed": lead.renewed.astimezone(UTC).isoformat(),
            }
        )
        self._repository.update_ref(REF, None)
        commit = self._repository.commit_files(
            REF, {_FILE: text.encode()}, "leader [skip ci]\n", parent=None, when=lead.renewed
        )
        try:
            self._repository.push(self._url, REF, expected=self._tip)
        except errors.StateConflict:
            return False
        self._tip = commit
        return True


_LONG_AGO = datetime.fromtimestamp(0, UTC)
