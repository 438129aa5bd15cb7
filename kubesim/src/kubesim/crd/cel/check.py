"""Finds what is wrong with a rule before it runs: unknown names and fields, operators applied to types they are not
made for.

A rule with such a mistake makes the whole definition invalid (Kubernetes: compilation of x-kubernetes-validations),
so a typo in a field name is told when the definition is applied and not at the first object. The checker knows the
types that schemas give and those of the functions; where it cannot tell (``dyn``) it lets pass, and the evaluator
decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubesim.crd import regex
from kubesim.crd.cel import declarations, evaluate, values
from kubesim.crd.cel.nodes import Call, ListOf, Literal, MapOf, Member, Name, Node
from kubesim.crd.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
    list_of,
    optional_of,
)


@dataclass(slots=True)
class Problem:
    at: int
    text: str


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
    if not checker.problems:
        checker.check_literals()
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
        self.literals: list[tuple[str, Call]] = []
        self.mixed = False
        """Inside the arguments of ``format``, the one place where a literal list may hold different types."""

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
            return list_of(self.uniform(node.items, scope, node.optional))
        if isinstance(node, MapOf):
            keys = self.uniform(tuple(key for key, _, _ in node.entries), scope)
            optional = frozenset(at for at, entry in enumerate(node.entries) if entry[2])
            return CelType("map", (keys, self.uniform(tuple(value for _, value, _ in node.entries), scope, optional)))
        return self.call(node, scope)

    def uniform(
        self, nodes: tuple[Node, ...], scope: dict[str, CelType], optional: frozenset[int] = frozenset()
    ) -> CelType:
        """The one type of the items of a literal list, or of a map's keys or values: Kubernetes wants them all
        alike."""
        first: CelType | None = None
        alike = True
        for at, one in enumerate(nodes):
            found = self.type_of(one, scope)
            if at in optional and found.name == "optional_type":
                found = found.params[0]
            if first is None or first.name == "dyn":
                first = found
            elif not _same(first, found):
                if self.mixed:
                    return DYN
                self.complain(one.at, f"expected type '{first}' but found '{found}'")
                alike = False
        return first if first is not None and alike else DYN

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
            return self.has(node, scope)
        if node.target is not None and name in evaluate.MACROS and len(node.args) >= 2:
            return self.macro(node, scope)
        before, self.mixed = self.mixed, self.mixed or (name == "format" and node.target is not None)
        args = [self.type_of(arg, scope) for arg in node.args]
        self.mixed = before
        if name.startswith(("_", "@", "!", "-")):
            return self.operator(node, args)
        space = evaluate.qualified(node.target) if node.target is not None else ""
        whole = f"{space}.{name}" if space and space.split(".")[0] not in scope else ""
        if whole in declarations.functions():
            return self.chosen(node, whole, declarations.functions()[whole], args)
        known = declarations.functions() if node.target is None else declarations.methods()
        if node.target is not None:
            args.insert(0, self.type_of(node.target, scope))
        if name not in declarations.functions() and name not in declarations.methods():
            return self.complain(node.at, f"undeclared reference to '{name}' (in container '')")
        return self.chosen(node, name, known.get(name, []), args)

    def has(self, node: Call, scope: dict[str, CelType]) -> CelType:
        if len(node.args) != 1 or not isinstance(node.args[0], Member):
            return self.complain(node.args[0].at if node.args else node.at, "invalid argument to has() macro")
        tested = node.args[0]
        # The macro stands in for the selection it tests, and so does its place in messages.
        self.type_of(Member(node.at, tested.of, tested.field, tested.optional), scope)
        return BOOL

    def chosen(self, node: Call, name: str, overloads: list[declarations.Overload], args: list[CelType]) -> CelType:
        found = declarations.resolve(overloads, args)
        if found is not None:
            self.literals.append((name, node))
            return found
        if node.target is not None and name == node.function:
            shown = f"{args[0]}.({', '.join(map(str, args[1:]))})"
        else:
            shown = f"({', '.join(map(str, args))})"
        return self.complain(node.at, f"found no matching overload for '{name}' applied to '{shown}'")

    def check_literals(self) -> None:
        """Patterns, times and lengths written in the rule must be some; asked only of a rule that is right
        otherwise."""
        for name, node in self.literals:
            if name not in _LITERALS or not node.args:
                continue
            arg = node.args[-1]
            if isinstance(arg, Literal) and not _LITERALS[name](arg.value):
                self.complain(arg.at, f"invalid {name} argument")

    def mismatch(self, node: Call, args: list[CelType]) -> CelType:
        return self.complain(
            node.at, f"found no matching overload for '{node.function}' applied to '({', '.join(map(str, args))})'"
        )

    def operator(self, node: Call, args: list[CelType]) -> CelType:
        name = node.function
        loose = any(arg.name == "dyn" for arg in args)
        if name in ("_&&_", "_||_"):
            for arg, found in zip(node.args, args, strict=True):
                if found.name not in ("bool", "dyn"):
                    self.complain(arg.at, f"expected type 'bool' but found '{found}'")
            return BOOL
        if name == "!_":
            return BOOL if all(arg.name in ("bool", "dyn") for arg in args) else self.mismatch(node, args)
        if name == "_?_:_":
            if args[0].name not in ("bool", "dyn") or not _same(args[1], args[2]):
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
            return args[0] if args[0].name in ("int", "double", "dyn") else self.mismatch(node, args)
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
            return self.complain(node.args[0].at, "argument is not an identifier")
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
                if name == "filter":
                    shown = f"({bodies[0]}, {list_of(first)}, {list_of(first)})"
                else:
                    shown = f"(bool, {bodies[0]})"
                operator = {"all": "_&&_", "exists": "_||_"}.get(name, "_?_:_")
                return self.complain(node.at, f"found no matching overload for '{operator}' applied to '{shown}'")
            return list_of(first) if name == "filter" else BOOL
        if name == "sortBy":
            return over
        if name in ("map", "transformList"):
            return list_of(bodies[-1])
        return CelType("map", (inner[node.args[0].name], bodies[-1])) if name == "transformMap" else DYN


def _is_pattern(text: str) -> bool:
    try:
        regex.compile_pattern(text)
    except regex.RegexError:
        return False
    return True


_LITERALS: Final[dict[str, Callable[[Any], bool]]] = {
    "matches": _is_pattern,
    "timestamp": lambda value: isinstance(value, int) or values.parse_time(value) is not None,
    "duration": lambda value: isinstance(value, str) and values.parse_duration(value) is not None,
}


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
