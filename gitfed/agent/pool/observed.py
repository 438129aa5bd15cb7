"""What a member has seen of Leases, by its own clock: clocks of two machines are never compared.

A Lease runs out when no member has written it for as long as it counts, since *this* process first saw it as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitfed.edges.kube.leases.shared_leases import LeaseRecord


class Observed:
    def __init__(self) -> None:
        self.records: dict[str, LeaseRecord] = {}
        self._since: dict[str, float] = {}

    def take(self, records: Mapping[str, LeaseRecord], now: float) -> None:
        """Everything that there is, as it was read."""
        for name in self.records.keys() - records.keys():
            del self.records[name], self._since[name]
        for record in records.values():
            self.note(record, now)

    def note(self, record: LeaseRecord, now: float) -> None:
        before = self.records.get(record.name)
        if before is None or before.version != record.version:
            self.records[record.name] = record
            self._since[record.name] = now

    def forget(self, name: str) -> None:
        self.records.pop(name, None)
        self._since.pop(name, None)

    def holder(self, name: str, now: float) -> str:
        """ "" when no member holds it, or none any more."""
        record = self.records.get(name)
        return record.lead.holder if record is not None and self.silent(name, now) < record.lead.seconds else ""

    def silent(self, name: str, now: float) -> float:
        """Seconds since it was seen to change."""
        return now - self._since[name]
