"""What a JSONPath template of Kubernetes finds in a document, as text (Karmada: policies §3.4).

This is the language of `statePreservation` rules: `job-{.jobStatus.jobId}`. How a template is written is
`jsonpath_template`'s; the walk through the document is jsonpath-ng's, whose language is another one: there a path that
leads nowhere finds nothing, here it is an error, because the value of a job that could not be found must not become an
empty label. So each link of a path is asked by itself, and what it cannot be asked of is told by what was found.

Of several values that a link is asked of, some may lack a member; if all do, it is missing. A filter, `*`, a slice or
a range without hits is no error but the empty text.
"""

from __future__ import annotations

import itertools
import json
import operator as compare
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from jsonpath_ng import jsonpath as ng

from gitfed.text import jsonpath_template as template
from gitfed.text import selector
from gitfed.text.jsonpath_template import Chain, Descend, Every, Filter, IndexRange, Link, Literal, Loop, Name, Union

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": compare.eq, "!=": compare.ne, "<": compare.lt, "<=": compare.le, ">": compare.gt, ">=": compare.ge,
}  # fmt: skip
_NAMES_SHOWN = 8
_MOST: Final = 10_000
"""Values that one link may give, and rounds of all ranges together: a status is small, and templates can multiply."""
_PLAIN = re.compile(r"[A-Za-z_][\w-]*")


class JsonPathError(ValueError):
    """The template is wrong, or leads to nothing, or to nothing that can be used: `{.a.b}: …`."""


def find(text: str, document: Any) -> str:
    """The text that `text`, a template, gives for a document of JSON values.

    Several hits of one pair of braces are joined by a blank. Truth values print as `true` and `false`, null as `null`,
    maps and lists as JSON, whole numbers without fraction or exponent. Raises JsonPathError.
    """
    return "".join(part for values in _results(text, document) for part in _printed(values))


def label_value(text: str, document: Any) -> str:
    """The same as something that Kubernetes takes for a label's value. Raises JsonPathError, saying what was found."""
    results = list(_results(text, document))
    value = "".join(part for values in results for part in _printed(values))
    if selector.is_value(value):
        return value
    values = [value for values in results for value in values]
    what = _described(values[0]) if len(values) == 1 else f"{value!r:.80}"
    raise JsonPathError(f"{text}: found {what}, which is no label value")


@lru_cache(maxsize=1024)
def _parsed(text: str) -> template.Template:
    try:
        return template.parse(text)
    except template.TemplateError as error:
        raise JsonPathError(f"{text}: {error}") from None


def _results(text: str, document: Any) -> Iterable[Sequence[Any]]:
    try:
        return list(_evaluated(_parsed(text), document, itertools.count(1)))
    except _Missing as error:
        raise JsonPathError(f"{text}: {error}") from None


class _Missing(Exception):
    """A link leads nowhere."""


def _evaluated(parts: template.Template, document: Any, rounds: Iterator[int]) -> Iterable[Sequence[Any]]:
    """The hits of each part in turn."""
    for part in parts:
        if isinstance(part, str):
            yield (part,)
        elif isinstance(part, Loop):
            for value in _followed(part.over, document):
                if next(rounds) > _MOST:
                    raise _Missing(f"its ranges take more than {_MOST:,} rounds")
                yield from _evaluated(part.body, value, rounds)
        else:
            yield _followed(part, document)


def _followed(chain: Chain, document: Any) -> Sequence[Any]:
    return _after(chain, (document,))


def _after(chain: Chain, values: Sequence[Any]) -> Sequence[Any]:
    for link in chain:
        values = _linked(link, values)
        if len(values) > _MOST:
            raise _Missing(f"it finds more than {_MOST:,} values")
    return values


def _linked(link: Link, values: Sequence[Any]) -> Sequence[Any]:
    match link:
        case Name(name):
            return _members(name, values)
        case IndexRange():
            return [item for value in values for item in _items(link, value)]
        case Every():
            return [child for value in values for child in _children(value)]
        case Descend():
            inside = ng.Descendants(ng.This(), ng.This())
            return [hit.value for value in values for hit in inside.find(value) if hit.value and _has_inside(hit.value)]
        case Union(chains):
            return [hit for chain in chains for hit in _after(chain, values)]
        case Filter():
            return [item for value in values for item in _list(value, "a filter") if _passes(link, item)]
        case Literal(value):
            return [value] * len(values)


def _members(name: str, values: Sequence[Any]) -> Sequence[Any]:
    member = ng.Fields(name)
    hits = [hit.value for value in values if isinstance(value, dict) for hit in member.find(value)]
    if values and not hits:
        value = values[0]
        if isinstance(value, dict):
            names = sorted(value)
            more = ", …" if len(names) > _NAMES_SHOWN else ""
            there = f"there are {', '.join(names[:_NAMES_SHOWN])}{more}" if names else "there are none"
            raise _Missing(f"there is no member {_quoted(name)} ({there})")
        raise _Missing(f"there is no member {_quoted(name)} in {_described(value)}")
    return hits


def _items(which: IndexRange, value: Any) -> Sequence[Any]:
    """Null has no items; all else must be a list that reaches as far as the index or slice."""
    if value is None:
        return ()
    items = _list(value, str(which))
    length = len(items)
    if which.single:
        hits = ng.Index(which.start or 0).find(items)
        if not hits:
            raise _Missing(f"{which} is outside of a list of {length}")
        return [hit.value for hit in hits]
    start = _from_end(which.start or 0, length)
    end = length if which.end is None else which.end + length if which.end < 0 else which.end
    if start == end:
        return ()
    if not 0 <= start < length or not 0 <= end <= length:
        raise _Missing(f"{which} reaches outside of a list of {length}")
    if start > end:
        raise _Missing(f"{which} begins after its end in a list of {length}")
    return [hit.value for hit in ng.Slice(start, end, which.step).find(items)]


def _from_end(index: int, length: int) -> int:
    return index + length if index < 0 else index


def _list(value: Any, asked: str) -> list[Any]:
    if not isinstance(value, list):
        raise _Missing(f"{asked} needs a list, and finds {_described(value)}")
    return value


def _children(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _has_inside(value: Any) -> bool:
    """What `..` stops at. A text is one: that it has no members is then an error, and not nothing (Karmada)."""
    return isinstance(value, dict | list | str)


def _passes(filtering: Filter, item: Any) -> bool:
    """An item that lacks what is compared does not pass."""
    try:
        left = _followed(filtering.left, item)
    except _Missing:
        return False
    if not filtering.operator:
        return bool(left)
    try:
        right = _followed(filtering.right, item)
    except _Missing:
        return False
    if len(left) > 1 or len(right) > 1:
        raise _Missing("a filter compares one value with one")
    if not left or not right or left[0] is None or right[0] is None:
        return False
    if not _comparable(left[0], right[0], filtering.operator):
        raise _Missing(f"{_described(left[0])} and {_described(right[0])} do not compare by {filtering.operator}")
    return _COMPARE[filtering.operator](left[0], right[0])


def _comparable(left: Any, right: Any, by: str) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and by in ("==", "!=")
    if isinstance(left, int | float):
        return isinstance(right, int | float)
    return isinstance(left, str) and isinstance(right, str)


def _printed(values: Sequence[Any]) -> Iterable[str]:
    for i, value in enumerate(values):
        yield (" " if i else "") + _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return json.dumps(_whole(value), separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def _whole(value: Any) -> Any:
    """Whole numbers as such, at any depth: 3.0 in JSON is 3."""
    if isinstance(value, dict):
        return {name: _whole(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_whole(child) for child in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _described(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"the number {_text(value)}"
    if isinstance(value, str):
        return f"the text {value!r:.80}"
    what = "member" if isinstance(value, dict) else "item"
    return f"a {'map' if isinstance(value, dict) else 'list'} of {len(value)} {what}{'s' * (len(value) != 1)}"


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else repr(name)
