"""A mapping that one side owns and the other has a copy of.

`Told` is the owner's, `Heard` the copy. One change is under way at a time, and counts when its last part has come: a
reader never sees half of one. What happens meanwhile is collected and goes with the next change, so a slow reader gets
the newest state of everything and not everything that ever was; that is all the back-pressure there is, and it bounds
what is under way.

Changes of one connection are counted from 1. One that came before is acknowledged again and not looked at; one that is
missing ends the connection. A new connection begins with the digests of the copy, in buckets of keys: only buckets
that differ are sent, each as a whole.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from gitfed.agent_protocol.frames import LARGEST, USUAL, Put
from gitfed.errors import LinkError
from gitfed.text import canonical

BUCKETS = 64
MOST_KEYS = 200_000
MOST_BYTES = 256 << 20
"""Of one change: what one agent says must not fill the hub's memory."""
_ENVELOPE = 4096
"""Bytes that a frame has beside one value and its key."""
_NOTHING = hashlib.sha256().hexdigest()[:32]
"""The digest of a bucket that holds no key."""


class ValueChange(NamedTuple):
    """What was said: values that are new or other ones now, and keys that are gone."""

    set: Mapping[str, Any]
    gone: frozenset[str]


class Told:
    """What this side says."""

    def __init__(self, *, whole: bool = True, at_once: Iterable[str] = ()) -> None:
        """`whole`: False while what is to be said is known in part only, or not for good (`complete`). `at_once`: keys
        that are said all the same to a side that has no others."""
        self._whole = whole
        self._at_once = frozenset(map(bucket, at_once))
        self._theirs: list[str] = []
        """What the other side has, as long as nothing is said to it."""
        self._values: dict[str, bytes] = {}
        self._dirty: dict[str, None] = {}
        """Keys in the order in which they changed first."""
        self._reset: set[int] = set()
        self._number = 0
        self._under_way = False
        self._connected = False
        self.sequence = 0
        """How often a value became another one."""
        self.held = 0
        """Up to which of these the other side has all, as it acknowledged last."""
        self._sent = 0

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def put(self, key: str, value: Any) -> bool:
        """Whether that is news. Raises LinkError for a value that no frame has room for, and says nothing of it."""
        return self.put_text(key, text_of(value))

    def put_text(self, key: str, text: bytes) -> bool:
        """`put` of what `text_of` made: many owners may keep the same bytes."""
        if not fits(key, text):
            raise LinkError(f"{key} has {len(text)} bytes: more than an agent is sent")
        if self._values.get(key) == text:
            return False
        self._values[key] = text
        self._note(key)
        return True

    def drop(self, key: str) -> None:
        if self._values.pop(key, None) is not None:
            self._note(key)

    def _note(self, key: str) -> None:
        self._dirty[key] = None
        self.sequence += 1

    @property
    def settled(self) -> bool:
        """Whether the other side has, and has acknowledged, all of it."""
        return self._connected and not (self._dirty or self._reset or self._under_way or self._theirs)

    def connect(self, digests: Iterable[str]) -> None:
        """A new connection: the other side has what these digests tell. A side that knows only a part so far says
        nothing to a side that has more: that would be taken away, or become another value, and be sent again in a
        moment."""
        theirs = list(digests)
        self._number, self._under_way, self._connected = 0, False, True
        if not self._whole and self._has_more(theirs):
            self._theirs, self.held = theirs, 0
            return
        self._compare(theirs)

    def _has_more(self, theirs: list[str]) -> bool:
        """Whether these digests tell of other keys than those that are said at once."""
        return any(digest != _NOTHING and number not in self._at_once for number, digest in enumerate(theirs))

    def complete(self) -> None:
        """All is known now: what the other side has and should not have is no more to be spared."""
        self._whole = True
        if self._theirs:
            theirs, self._theirs = self._theirs, []
            self._compare(theirs)

    def _compare(self, theirs: list[str]) -> None:
        ours = digests_of(self._values)
        self._dirty.clear()
        self._reset = (
            set(range(BUCKETS))
            if len(theirs) != BUCKETS
            else {number for number in range(BUCKETS) if theirs[number] != ours[number]}
        )
        self.held = 0 if self._reset else self.sequence

    def disconnect(self) -> None:
        self._connected = self._under_way = False
        self._theirs = []

    def next(self) -> list[Put]:
        """The next change, in parts; none while one is under way, or when nothing is to be said."""
        if not self._connected or self._under_way or self._theirs or not (self._dirty or self._reset):
            return []
        keys, buckets = self._dirty, tuple(sorted(self._reset))
        if self._reset:
            keys = {**keys, **{key: None for key in self._values if bucket(key) in self._reset}}
        self._dirty, self._reset = {}, set()
        self._number += 1
        self._under_way = True
        self._sent = self.sequence
        return list(self._parts(keys, buckets))

    def _parts(self, keys: Iterable[str], buckets: tuple[int, ...]) -> Iterator[Put]:
        number, size = 0, 0
        values: dict[str, Any] = {}
        gone: list[str] = []
        for key in keys:
            text = self._values.get(key)
            more = len(key) + (len(text) if text is not None else 0)
            if size and size + more > USUAL:
                yield Put(self._number, number, False, values, tuple(gone), buckets)
                number, size, values, gone, buckets = number + 1, 0, {}, [], ()
            size += more
            if text is None:
                gone.append(key)
            else:
                values[key] = orjson.Fragment(text)
        yield Put(self._number, number, True, values, tuple(gone), buckets)

    def acknowledged(self, number: int) -> None:
        """Raises LinkError for a number that was never sent."""
        if number > self._number:
            raise LinkError(f"change {number} is acknowledged and was never sent")
        if number == self._number and self._under_way:
            self._under_way = False
            self.held = self._sent


class Heard:
    """What the other side said. `values` is never changed but by `take`."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._number = 0
        self._parts = 0
        self._bytes = 0
        self._set: dict[str, Any] = {}
        self._gone: set[str] = set()
        self._buckets: set[int] = set()

    def connect(self) -> list[str]:
        """A new connection: what is here, by digests. What a cut left half said is forgotten."""
        self._number = 0
        self._begin()
        return digests_of(self._texts())

    def _texts(self) -> Mapping[str, bytes]:
        return {key: _text(value) for key, value in self.values.items()}

    def _begin(self) -> None:
        self._parts = self._bytes = 0
        self._set, self._gone, self._buckets = {}, set(), set()

    def take(self, put: Put, size: int = 0) -> ValueChange | None:
        """A change, when this was its last part. A repeated one is acknowledged and nothing else. `size`: bytes of the
        frame. Raises LinkError."""
        if put.n <= self._number:
            return None
        if put.n != self._number + 1 or put.part != self._parts:
            raise LinkError(f"part {put.part} of change {put.n} came, {self._parts} of {self._number + 1} was expected")
        self._parts += 1
        self._bytes += size
        if self._bytes > MOST_BYTES or len(self.values) + len(self._set) + len(put.set) > MOST_KEYS:
            raise LinkError(f"too much at once: at most {MOST_KEYS} values and {MOST_BYTES} bytes", final=True)
        for key in put.gone:
            self._set.pop(key, None)
            self._gone.add(key)
        for key, value in put.set.items():
            self._gone.discard(key)
            self._set[key] = self._as_kept(value)
        self._buckets.update(put.buckets)
        if not put.last:
            return None
        gone = {key for key in self._gone if key in self.values}
        if self._buckets:
            gone |= {key for key in self.values if bucket(key) in self._buckets and key not in self._set}
        news = {key: value for key, value in self._set.items() if key not in self.values or self.values[key] != value}
        for key in gone:
            del self.values[key]
        self.values.update(news)
        self._number = put.n
        self._begin()
        return ValueChange(self._as_read(news), frozenset(gone))

    def _as_kept(self, value: Any) -> Any:
        """A value as `values` has it."""
        return value

    def _as_read(self, kept: Mapping[str, Any]) -> Mapping[str, Any]:
        """As a change has them."""
        return kept


class HeardAsText(Heard):
    """For a reader that makes values of its own of every change and never looks at `values` again. What is kept only
    to be compared is text, a quarter of what the same takes as values: a hub keeps it of every copy in the fleet. So is
    what has come of a change, since all agents of a fleet may be in the middle of one."""

    values: dict[str, bytes]

    def _texts(self) -> Mapping[str, bytes]:
        return self.values

    def _as_kept(self, value: Any) -> bytes:
        return canonical.to_keep(_text(value))

    def _as_read(self, kept: Mapping[str, bytes]) -> Mapping[str, Any]:
        return _Read(kept)


class _Read(Mapping[str, Any]):
    """The values of these texts, each made when it is asked for."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts

    def __getitem__(self, key: str) -> Any:
        return orjson.loads(self._texts[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def bucket(key: str) -> int:
    return zlib.crc32(key.encode()) % BUCKETS


def text_of(value: Any) -> bytes:
    """How a value stands in a mapping."""
    return canonical.to_keep(orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS))


def fits(key: str, text: bytes) -> bool:
    """Whether it can be told: a frame holds a value whole."""
    return len(text) + len(key) + _ENVELOPE <= LARGEST


def digests_of(values: Mapping[str, bytes]) -> list[str]:
    """One for each bucket."""
    hashes = [hashlib.sha256() for _ in range(BUCKETS)]
    for key in sorted(values):
        text = values[key]
        hashes[bucket(key)].update(f"{len(key)}:{key}:{len(text)}:".encode() + text)
    return [bucket_hash.hexdigest()[:32] for bucket_hash in hashes]


def _text(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
