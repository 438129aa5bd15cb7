"""Finds what is wrong with a rule before it runs: unknown names and fields, operators applied to types they are not
made for.

A rule with such a mistake makes the whole definition invalid (Kubernetes: compilation of x-kubernetes-validations),
so a typo in a field name is told when the definition is applied and not at the first object. The checker knows the
types that schemas give and those of the functions; where it cannot tell (``dyn``) it lets pass, and the evaluator
decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gitfed.sim.crd.cel import evaluate, functions, values
from gitfed.sim.crd.cel.syntax import Call, ListOf, Literal, MapOf, Member, Name, Node


@dataclass(frozen=True, slots=True)
class CelType:
    """``name`` as messages print it; ``params`` of lists, maps and optionals; ``fields`` of objects."""

    name: str
    params: tuple[CelType, ...] = ()
    fields: Mapping[str, CelType] = field(default_factory=dict, hash=False, compare=False)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name


DYN: Final = CelType("dyn")
BOOL: Final = CelType("bool")
INT: Final = CelType("int")
UINT: Final = CelType("uint")
DOUBLE: Final = CelType("double")
STRING: Final = CelType("string")
BYTES: Final = CelType("bytes")
NULL: Final = CelType("null")
TIMESTAMP: Final = CelType("timestamp")
DURATION: Final = CelType("duration")
QUANTITY: Final = CelType("kubernetes.Quantity")
TYPE: Final = CelType("type")


def list_of(item: CelType) -> CelType:
    return CelType("list", (item,))


def map_of(value: CelType) -> CelType:
    return CelType("map", (STRING, value))


def object_of(name: str, fields: Mapping[str, CelType]) -> CelType:
    return CelType(name, (), fields)


def optional_of(inner: CelType) -> CelType:
    return CelType("optional_type", (inner,))


@dataclass(slots=True)
class Problem:
    at: int
    text: str


_RESULT: Final[dict[str, CelType]] = {
    **dict.fromkeys(
        [
            "size",
            "int",
            "compareTo",
            "sign",
            "asInteger",
            "indexOf",
            "lastIndexOf",
            "getFullYear",
            "getMonth",
            "getDate",
            "getDayOfMonth",
            "getDayOfWeek",
            "getDayOfYear",
            "getHours",
            "getMinutes",
            "getSeconds",
            "getMilliseconds",
            "family",
            "prefixLength",
        ],
        INT,
    ),
    **dict.fromkeys(
        [
            "contains",
            "startsWith",
            "endsWith",
            "matches",
            "isSorted",
            "isInteger",
            "isGreaterThan",
            "isLessThan",
            "isQuantity",
            "isURL",
            "isIP",
            "isCIDR",
            "ip.isCanonical",
            "bool",
            "isUnspecified",
            "isLoopback",
            "isLinkLocalMulticast",
            "isLinkLocalUnicast",
            "isGlobalUnicast",
            "containsIP",
            "containsCIDR",
            "hasValue",
            "sets.contains",
            "sets.equivalent",
            "sets.intersects",
        ],
        BOOL,
    ),
    **dict.fromkeys(
        [
            "string",
            "charAt",
            "join",
            "lowerAscii",
            "upperAscii",
            "replace",
            "substring",
            "trim",
            "format",
            "find",
            "getScheme",
            "getHost",
            "getHostname",
            "getPort",
            "getEscapedPath",
            "strings.quote",
        ],
        STRING,
    ),
    **dict.fromkeys(["split", "findAll"], list_of(STRING)),
    **dict.fromkeys(["quantity", "add", "sub"], QUANTITY),
    "double": DOUBLE,
    "asApproximateFloat": DOUBLE,
    "uint": UINT,
    "bytes": BYTES,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "type": TYPE,
    "lists.range": list_of(INT),
    "getQuery": map_of(list_of(STRING)),
}
_TEXT_METHODS: Final = frozenset(
    [
        "contains",
        "startsWith",
        "endsWith",
        "matches",
        "charAt",
        "lowerAscii",
        "upperAscii",
        "replace",
        "split",
        "substring",
        "trim",
        "find",
        "findAll",
    ]
)
_SAME_TYPE: Final = frozenset({"distinct", "slice", "sort", "reverse", "masked"})
_ARITHMETIC: Final = {
    "_+_": {INT, UINT, DOUBLE, STRING, BYTES, DURATION},
    "_-_": {INT, UINT, DOUBLE, DURATION},
    "_*_": {INT, UINT, DOUBLE},
    "_/_": {INT, UINT, DOUBLE},
    "_%_": {INT, UINT},
}
_ORDERED: Final = {INT, UINT, DOUBLE, STRING, BYTES, BOOL, TIMESTAMP, DURATION}
_NUMBERS: Final = {INT, UINT, DOUBLE}


def check(node: Node, variables: Mapping[str, CelType]) -> tuple[CelType, list[Problem]]:
    checker = _Checker()
    found = checker.type_of(node, dict(variables))
    return found, checker.problems


def uses(node: Node, name: str) -> bool:
    """Does the expression mention the variable?"""
    if isinstance(node, Name):
        return node.name == name
    return any(uses(child, name) for child in children(node))


def children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Member):
        return (node.of,)
    if isinstance(node, Call):
        return (*((node.target,) if node.target is not None else ()), *node.args)
    if isinstance(node, ListOf):
        return node.items
    if isinstance(node, MapOf):
        return tuple(part for key, value, _ in node.entries for part in (key, value))
    return ()


class _Checker:
    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def complain(self, at: int, text: str) -> CelType:
        self.problems.append(Problem(at, text))
        return DYN

    def type_of(self, node: Node, scope: dict[str, CelType]) -> CelType:
        if isinstance(node, Literal):
            return _literal(node.value)
        if isinstance(node, Name):
            if node.name in scope:
                return scope[node.name]
            if node.name in evaluate._TYPES:
                return TYPE
            return self.complain(node.at, f"undeclared reference to '{node.name}' (in container '')")
        if isinstance(node, Member):
            return self.member(node, scope)
        if isinstance(node, ListOf):
            items = [self.type_of(item, scope) for item in node.items]
            return list_of(items[0] if items and all(item == items[0] for item in items) else DYN)
        if isinstance(node, MapOf):
            found = [(self.type_of(key, scope), self.type_of(value, scope)) for key, value, _ in node.entries]
            same = bool(found) and all(pair == found[0] for pair in found)
            return CelType("map", found[0] if same else (DYN, DYN))
        return self.call(node, scope)

    def member(self, node: Member, scope: dict[str, CelType]) -> CelType:
        if evaluate.qualified(node) in evaluate._QUALIFIED:
            return TYPE
        of = self.type_of(node.of, scope)
        if of.name == "optional_type":
            return optional_of(self.select(node, of.params[0]))
        found = self.select(node, of)
        return optional_of(found) if node.optional else found

    def select(self, node: Member, of: CelType) -> CelType:
        if of.name == "map":
            return of.params[1]
        if of.fields or _is_object(of):
            if node.field not in of.fields:
                return self.complain(node.at, f"undefined field '{node.field}'")
            return of.fields[node.field]
        if of is not DYN and of.name != "dyn":
            return self.complain(node.at, f"type '{of}' does not support field selection")
        return DYN

    def call(self, node: Call, scope: dict[str, CelType]) -> CelType:
        name = node.function
        if name == "has" and node.target is None:
            if len(node.args) != 1 or not isinstance(node.args[0], Member):
                return self.complain(node.at, "invalid argument to has() macro")
            self.type_of(node.args[0], scope)
            return BOOL
        if node.target is not None and name in evaluate.MACROS and len(node.args) >= 2:
            return self.macro(node, scope)
        space = evaluate.qualified(node.target) if node.target is not None else ""
        if space and space.split(".")[0] not in scope and f"{space}.{name}" in functions.GLOBAL:
            for arg in node.args:
                self.type_of(arg, scope)
            return _RESULT.get(f"{space}.{name}", DYN)
        target = self.type_of(node.target, scope) if node.target is not None else None
        args = [self.type_of(arg, scope) for arg in node.args]
        known = functions.METHODS if node.target is not None else functions.GLOBAL
        if name.startswith(("_", "@", "!", "-")):
            return self.operator(node, args)
        if name not in known:
            return self.complain(node.at, f"undeclared reference to '{name}' (in container '')")
        if target is not None:
            return self.method(node, target, args)
        if name == "size" and len(args) == 1 and args[0].name not in ("dyn", "string", "bytes", "list", "map"):
            return self.mismatch(node, args)
        return args[0] if name == "dyn" and not args else _RESULT.get(name, DYN)

    def method(self, node: Call, target: CelType, args: list[CelType]) -> CelType:
        name = node.function
        if name in _TEXT_METHODS and target.name not in ("string", "dyn"):
            shown = ", ".join(map(str, args))
            return self.complain(node.at, f"found no matching overload for '{name}' applied to '{target}.({shown})'")
        if name in _SAME_TYPE:
            return target
        if name in ("sum", "min", "max") and target.name == "list":
            return target.params[0]
        if name in ("orValue", "value") and target.name == "optional_type":
            return target.params[0]
        if name == "or":
            return target
        if name in ("first", "last") and target.name == "list":
            return optional_of(target.params[0])
        return _RESULT.get(name, DYN)

    def mismatch(self, node: Call, args: list[CelType]) -> CelType:
        return self.complain(
            node.at, f"found no matching overload for '{node.function}' applied to '({', '.join(map(str, args))})'"
        )

    def operator(self, node: Call, args: list[CelType]) -> CelType:
        name = node.function
        loose = any(arg.name == "dyn" for arg in args)
        if name in ("_&&_", "_||_", "!_"):
            return BOOL if all(arg.name in ("bool", "dyn") for arg in args) else self.mismatch(node, args)
        if name == "_?_:_":
            if args[0].name not in ("bool", "dyn"):
                return self.mismatch(node, args)
            return args[1] if args[1] == args[2] else DYN
        if name in ("_==_", "_!=_"):
            return BOOL if loose or _same(args[0], args[1]) else self.mismatch(node, args)
        if name in ("_<_", "_<=_", "_>_", "_>=_"):
            both_numbers = set(args) <= _NUMBERS
            return (
                BOOL
                if loose or both_numbers or (args[0] == args[1] and args[0] in _ORDERED)
                else self.mismatch(node, args)
            )
        if name == "@in":
            holder = args[1]
            fits = holder.name == "dyn" or (
                holder.name in ("list", "map") and (loose or _same(args[0], holder.params[0]))
            )
            return BOOL if fits else self.mismatch(node, args)
        if name in ("_[_]", "_[?_]"):
            found = self.index(node, args)
            return optional_of(found) if name == "_[?_]" else found
        if name == "-_":
            return args[0] if args[0].name in ("int", "double", "duration", "dyn") else self.mismatch(node, args)
        return self.arithmetic(node, args, loose)

    def index(self, node: Call, args: list[CelType]) -> CelType:
        holder = args[0].params[0] if args[0].name == "optional_type" else args[0]
        if holder.name == "list":
            return holder.params[0] if args[1].name in ("int", "dyn") else self.mismatch(node, args)
        if holder.name == "map":
            return (
                holder.params[1]
                if "dyn" in (args[1].name, holder.params[0].name) or args[1] == holder.params[0]
                else self.mismatch(node, args)
            )
        return DYN if holder.name == "dyn" else self.mismatch(node, args)

    def arithmetic(self, node: Call, args: list[CelType], loose: bool) -> CelType:
        left, right = args
        if loose:
            return left if right.name == "dyn" else right if left.name == "dyn" else DYN
        if left == right and left in _ARITHMETIC[node.function]:
            return left
        if node.function == "_+_" and left.name == right.name == "list":
            return left if left == right else list_of(DYN)
        if node.function == "_+_" and {left, right} == {TIMESTAMP, DURATION}:
            return TIMESTAMP
        if node.function == "_-_" and left == TIMESTAMP and right in (TIMESTAMP, DURATION):
            return DURATION if right == TIMESTAMP else TIMESTAMP
        return self.mismatch(node, args)

    def macro(self, node: Call, scope: dict[str, CelType]) -> CelType:
        name = node.function
        assert node.target is not None
        over = self.type_of(node.target, scope)
        if not isinstance(node.args[0], Name):
            return self.complain(node.args[0].at, "argument must be a simple name")
        inner = dict(scope)
        if name in ("optMap", "optFlatMap"):
            inner[node.args[0].name] = over.params[0] if over.name == "optional_type" else DYN
            result = self.type_of(node.args[1], inner)
            return result if name == "optFlatMap" else optional_of(result)
        if over.name not in ("list", "map", "dyn"):
            return self.complain(
                node.target.at,
                f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)",
            )
        two = len(node.args) >= 3 and isinstance(node.args[1], Name) and name != "map"
        first = over.params[0] if over.params else DYN
        if two:
            second = over.params[1] if over.name == "map" else first
            inner[node.args[0].name] = first if over.name == "map" else INT if over.name == "list" else DYN
            inner[node.args[1].name] = second  # type: ignore[union-attr]
        else:
            inner[node.args[0].name] = first
        bodies = [self.type_of(arg, inner) for arg in node.args[2 if two else 1 :]]
        if name in ("all", "exists", "exists_one", "existsOne", "filter"):
            if bodies[0].name not in ("bool", "dyn"):
                operator = {"all": "_&&_", "exists": "_||_"}.get(name, "_?_:_")
                return self.complain(
                    node.at, f"found no matching overload for '{operator}' applied to '(bool, {bodies[0]})'"
                )
            return list_of(first) if name == "filter" else BOOL
        if name in ("map", "transformList"):
            return list_of(bodies[-1])
        return CelType("map", (inner[node.args[0].name], bodies[-1])) if name == "transformMap" else DYN


def _is_object(kind: CelType) -> bool:
    return kind.name.startswith("object")


def _same(left: CelType, right: CelType) -> bool:
    """May ``==`` compare them? Null goes with everything that can be absent; dynamic parts fit anything."""
    if left.name == "dyn" or right.name == "dyn":
        return True
    if left.name == "null" or right.name == "null":
        other = right if left.name == "null" else left
        return other.name in ("null", "timestamp", "duration", "optional_type") or _is_object(other)
    if left.name != right.name or len(left.params) != len(right.params):
        return False
    return all(_same(one, other) for one, other in zip(left.params, right.params, strict=True))


def _literal(value: Any) -> CelType:
    kinds = ((bool, BOOL), (values.Uint, UINT), (int, INT), (float, DOUBLE), (str, STRING), (bytes, BYTES))
    return next((kind for python, kind in kinds if isinstance(value, python)), NULL)
