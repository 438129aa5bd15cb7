"""How the inventory is written down: sixteen ConfigMaps, one data key per object.

    data:
      count: "2"                                          entries of this shard: one that was cut short is found out
      apps_.Deployment_.shop_.web: 9f0c…,hq3o5mvnbcotyx2k,3,
      schemaVersion: "1"                                  these four, and `shards`, in shard 0 only
      repositoryId: …
      term: "7"
      leader: 5f0a…                                       who raised the term: a random name, of one process
      shards: 0,3,5                                       a shard that is named here and not found has been lost

The value is `uid,binding,replicas,flags`, flags being `o` (orphaned) and `d` (deleting). A key that does not fit into
ConfigMap's 253 characters is replaced by its digest, and stands at the end of the value instead.

Nothing is guessed: what does not read exactly like this raises `BrokenEntryError`, and the inventory is not used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from gitfed.model.base import BindingId, ObjectKey
from gitfed.model.fleet import InventoryEntry
from gitfed.text.values import dataclass

SHARDS = 16
SCHEMA = 1

_HEADER = frozenset({"schemaVersion", "repositoryId", "term", "leader", "shards", "count"})
_BETWEEN = "_."
_ESCAPED = re.compile(r"_([0-9a-f]{2})")
_TO_ESCAPE = re.compile(rb"[^A-Za-z0-9.-]")
_LONGEST_KEY = 253


class BrokenEntryError(ValueError):
    """An inventory that cannot be read exactly; the message says where in the ConfigMap and what."""


@dataclass(frozen=True, slots=True)
class Header:
    """Shard 0's own part: whose inventory this is."""

    repository_id: str
    term: int
    shards: frozenset[int]
    leader: str = ""


def shard_of(key: ObjectKey) -> int:
    """0 … 15, evenly and for ever: the first hexadecimal digit of the key's digest."""
    return int(_digest(key)[0], 16)


def encode(entry: InventoryEntry) -> tuple[str, str]:
    """Data key and value of one entry."""
    name = _name(entry.key)
    replicas = "" if entry.replicas is None else str(entry.replicas)
    flags = ("o" if entry.orphaned else "") + ("d" if entry.deleting else "")
    value = f"{entry.uid},{entry.binding},{replicas},{flags}"
    if len(name) > _LONGEST_KEY:
        return f"_{_digest(entry.key)}", f"{value},{name}"
    return name, value


def data_key(key: ObjectKey) -> str:
    return encode(InventoryEntry(key, "", BindingId("")))[0]


def decode(name: str, value: str) -> InventoryEntry:
    """The entry of a data key and its value. Raises BrokenEntryError."""
    parts = value.split(",")
    if name.startswith("_") and not name.startswith(_BETWEEN):
        name = parts.pop()
    if len(parts) != 4:
        raise BrokenEntryError(f"{name}: expected uid,binding,replicas,flags")
    uid, binding, replicas, flags = parts
    if (replicas and not replicas.isdecimal()) or set(flags) - {"o", "d"}:
        raise BrokenEntryError(f"{name}: unknown replicas or flags {replicas!r}, {flags!r}")
    fields = [_plain(part, name) for part in name.split(_BETWEEN)]
    if len(fields) != 4 or not fields[1] or not fields[3]:
        raise BrokenEntryError(f"{name}: expected group, kind, namespace and name")
    return InventoryEntry(
        key=ObjectKey(*fields),
        uid=uid,
        binding=BindingId(binding),
        replicas=int(replicas) if replicas else None,
        orphaned="o" in flags,
        deleting="d" in flags,
    )


def read_shard(number: int, data: Mapping[str, str]) -> dict[ObjectKey, InventoryEntry]:
    """The entries of one shard. Raises BrokenEntryError, also when some are missing."""
    entries = {}
    for name, value in data.items():
        if name in _HEADER:
            continue
        entry = decode(name, value)
        if shard_of(entry.key) != number:
            raise BrokenEntryError(f"{name}: belongs to shard {shard_of(entry.key)}")
        entries[entry.key] = entry
    if data.get("count") != str(len(entries)):
        raise BrokenEntryError(f"holds {len(entries)} entries, its count says {data.get('count', 'nothing')}")
    return entries


def read_header(data: Mapping[str, str]) -> Header:
    """Shard 0's header. Raises BrokenEntryError, also for a newer schema."""
    schema = data.get("schemaVersion", "")
    if not schema.isdecimal():
        raise BrokenEntryError("schemaVersion is missing")
    if int(schema) > SCHEMA:
        raise BrokenEntryError(f"schemaVersion {schema} was written by a newer gitfed")
    term, shards = data.get("term", ""), data.get("shards", "")
    numbers = [part for part in shards.split(",") if part]
    if not term.isdecimal() or not data.get("repositoryId") or not all(part.isdecimal() for part in numbers):
        raise BrokenEntryError("repositoryId, term or shards are missing or broken")
    return Header(data["repositoryId"], int(term), frozenset(map(int, numbers)), data.get("leader", ""))


def header_data(header: Header) -> dict[str, str]:
    return {
        "schemaVersion": str(SCHEMA),
        "repositoryId": header.repository_id,
        "term": str(header.term),
        "leader": header.leader,
        "shards": ",".join(map(str, sorted(header.shards))),
    }


def shard_data(entries: Iterable[InventoryEntry]) -> dict[str, str]:
    data = dict(encode(entry) for entry in entries)
    return {**data, "count": str(len(data))}


def _name(key: ObjectKey) -> str:
    return _BETWEEN.join(_escape(part) for part in key)


def _escape(text: str) -> str:
    """Roles are named `system:node` and the like; every other byte becomes `_` and two hexadecimal digits."""
    return _TO_ESCAPE.sub(lambda match: b"_%02x" % match[0][0], text.encode()).decode("ascii")


def _plain(text: str, where: str) -> str:
    octets = bytearray()
    position = 0
    for match in _ESCAPED.finditer(text):
        octets += text[position : match.start()].encode()
        octets.append(int(match[1], 16))
        position = match.end()
    octets += text[position:].encode()
    try:
        plain = octets.decode()
    except UnicodeDecodeError:
        raise BrokenEntryError(f"{where}: not a name") from None
    if _escape(plain) != text:
        raise BrokenEntryError(f"{where}: not a name")
    return plain


def _digest(key: ObjectKey) -> str:
    return hashlib.sha256("/".join(key).encode()).hexdigest()
