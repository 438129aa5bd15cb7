"""The ground of every declared kind: how a field, a part and a whole object are shaped.

`Part` is any structure inside; `Declared` is an object with apiVersion, kind and metadata. YAML spells members in
camelCase; Python reads them in snake_case. Tests may construct by either name; files are read by alias only (`read`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    StrictBool,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from gitfed.model.base import ObjectKey, Origin, Severity, group_of
from gitfed.text.values import dataclass

Text: TypeAlias = StrictStr
Flag: TypeAlias = StrictBool
Required: TypeAlias = Annotated[StrictStr, Field(min_length=1)]
Int32: TypeAlias = Annotated[StrictInt, Field(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[StrictInt, Field(ge=-(2**63), le=2**63 - 1)]
Labels: TypeAlias = dict[StrictStr, StrictStr]
Quantity: TypeAlias = Annotated[
    StrictStr,
    BeforeValidator(lambda value: str(value) if type(value) in (int, float) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]}),
]
"""A Kubernetes quantity as text; a plain number is accepted as Kubernetes does."""
Quantities: TypeAlias = dict[StrictStr, Quantity]

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?")


def duration(text: str) -> timedelta:
    """`90s`, `10m`, `1h30m`, `500ms` or `0`, as Kubernetes writes durations. Raises `ValueError`."""
    match = _DURATION.fullmatch(text)
    if text == "0":
        return timedelta()
    if not text or match is None:
        raise ValueError("must be a duration like 90s, 10m or 1h30m")
    hours, minutes, seconds, milliseconds = (int(part or 0) for part in match.groups())
    try:
        return timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
    except OverflowError:
        raise ValueError("is too long a duration") from None


def duration_text(span: timedelta) -> str:
    seconds, milliseconds = divmod(round(span.total_seconds() * 1000), 1000)
    hours, rest = divmod(seconds, 3600)
    parts = ((hours, "h"), (rest // 60, "m"), (rest % 60, "s"), (milliseconds, "ms"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def _to_duration(value: Any) -> Any:
    if isinstance(value, str):
        return duration(value)
    if isinstance(value, timedelta):
        return value
    raise ValueError("must be a duration like 90s, 10m or 1h30m")


Duration: TypeAlias = Annotated[
    timedelta,
    BeforeValidator(_to_duration),
    PlainSerializer(duration_text, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$"}),
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a declared object beyond its schema; `path` is spelled as in the file."""

    path: tuple[str | int, ...]
    message: str
    hint: str = ""
    severity: Severity = Severity.ERROR


def warning(path: tuple[str | int, ...], message: str, hint: str = "") -> Finding:
    return Finding(path, message, hint, Severity.WARNING)


@dataclass(frozen=True, slots=True)
class Meaningless:
    """Marks a field that is accepted and changes nothing here: `field: Annotated[Text, Meaningless("why")]`.

    It is warned of where a file sets it, and the reference page says the same.
    """

    why: str
    hint: str = "remove it"
    silent: bool = False
    """True where other programs write the field, so that a warning would not help the author."""


class Part(BaseModel):
    """A structure inside a declared object."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
        extra="forbid",
        frozen=True,
        defer_build=True,
    )

    def _settle(self, **values: Any) -> None:
        """Set a default that depends on other fields, while the model is being made."""
        self.__dict__.update(values)

    def without_effect(self, path: tuple[str | int, ...]) -> Iterator[Finding]:
        """Its own fields that are set and `Meaningless`."""
        for name, alias, mark in _meaningless_fields(type(self)):
            value = getattr(self, name)
            if value != type(self).model_fields[name].get_default(call_default_factory=True):
                plain = isinstance(value, str | int) and not isinstance(value, bool)
                what = f"{alias} {value}" if plain else alias
                yield warning((*path, alias), f"{what} has no effect: {mark.why}", mark.hint)

    def as_json(self) -> dict[str, Any]:
        """Plain JSON in the file's spelling, unset members left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


@functools.cache
def _meaningless_fields(part: type[Part]) -> tuple[tuple[str, str, Meaningless], ...]:
    """(attribute, spelling in files, mark) of what is warned of."""
    return tuple(
        (name, field.alias or name, mark)
        for name, field in part.model_fields.items()
        for mark in field.metadata
        if isinstance(mark, Meaningless) and not mark.silent
    )


class ObjectMeta(Part):
    """Kubernetes' metadata. What a cluster fills in is accepted, so that exported objects can be used as they are."""

    name: Required
    namespace: Text = ""
    labels: Labels = Field(default_factory=dict)
    annotations: Labels = Field(default_factory=dict)
    generate_name: Any = None
    uid: Any = None
    resource_version: Any = None
    generation: Any = None
    creation_timestamp: Any = None
    deletion_timestamp: Any = None
    deletion_grace_period_seconds: Any = None
    owner_references: Any = None
    finalizers: Any = None
    managed_fields: Any = None
    self_link: Any = None


class Declared(Part):
    """An object that a person declares. Two are equal when they say the same; where they stand does not count."""

    namespaced: ClassVar[bool] = False

    api_version: Text
    kind: Text
    metadata: ObjectMeta
    status: Any = Field(default=None, exclude=True)
    """Accepted and ignored: files exported from a Karmada control plane have it."""

    _origin: Origin = PrivateAttr(default=Origin(""))

    @property
    def origin(self) -> Origin:
        return self._origin

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(group_of(self.api_version), self.kind, self.metadata.namespace, self.metadata.name)

    def at(self, origin: Origin) -> Self:
        """The same object, standing at `origin`."""
        placed = self.model_copy()
        placed._origin = origin
        return placed

    def findings(self) -> Iterator[Finding]:
        """What is wrong beyond the schema (Karmada: admission), and fields that mean nothing here."""
        yield from ()

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """From a document's value, members spelled as in files. Raises `pydantic.ValidationError`."""
        return cls.model_validate(body, by_alias=True, by_name=False)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self).model_fields if name != "status")

    def __hash__(self) -> int:
        return hash((type(self), self.metadata.namespace, self.metadata.name))
