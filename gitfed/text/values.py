"""`dataclass` as in the standard library, made faster: frozen for mypy, not at run time.

A frozen dataclass has two compiled methods more when its module is imported, and stores each field by a call when a
value is made. gitfed has 500 of them, and makes millions (`docs/decisions/0049-frozen-for-mypy.md`).
"""

from __future__ import annotations

import dataclasses
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, order=False, kw_only=False):
        """`dataclasses.dataclass` with these of its options; where `frozen`, equal values have the same hash."""

        def made(cls):
            hashed = frozen and cls.__dict__.get("__hash__") is None
            if "__repr__" not in cls.__dict__:
                cls.__repr__ = _repr
            return dataclasses.dataclass(cls, repr=False, unsafe_hash=hashed, slots=slots, order=order, kw_only=kw_only)

        return made if cls is None else made(cls)


@recursive_repr()
def _repr(value: Any) -> str:
    shown = [field.name for field in dataclasses.fields(value) if field.repr]
    return f"{type(value).__qualname__}({', '.join(f'{name}={getattr(value, name)!r}' for name in shown)})"
