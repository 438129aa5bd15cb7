"""A tree of CEL becomes a Python function of its variables.

``program(node)`` compiles once; the result is called with a dict of variables for every object. Macros (``has``,
``all``, ``exists``, ``exists_one``, ``map``, ``filter``, ``transformList``…, ``optMap``) live here because they bind
names; ordinary functions are in ``functions``. As in CEL, ``&&`` and ``||`` forgive an error on one side if the other
side decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from kubesim.crd.cel import functions, operators, values
from kubesim.crd.cel.nodes import Call, ListOf, Literal, MapOf, Member, Name, Node
from kubesim.crd.cel.values import ABSENT, CelError, Optional

Env = dict[str, Any]
Step = Callable[[Env], Any]

_TYPES: Final = {
    name: values.Type(type_name)
    for name, type_name in (
        ("bool", "bool"),
        ("int", "int"),
        ("uint", "uint"),
        ("double", "double"),
        ("string", "string"),
        ("bytes", "bytes"),
        ("list", "list"),
        ("map", "map"),
        ("null_type", "null_type"),
        ("type", "type"),
        ("optional_type", "optional_type"),
    )
}
_QUALIFIED: Final = {
    "google.protobuf.Timestamp": values.Type("google.protobuf.Timestamp"),
    "google.protobuf.Duration": values.Type("google.protobuf.Duration"),
    "kubernetes.Quantity": values.Type("kubernetes.Quantity"),
    "kubernetes.URL": values.Type("kubernetes.URL"),
    "net.IP": values.Type("net.IP"),
    "net.CIDR": values.Type("net.CIDR"),
}
MACROS: Final = frozenset(
    {
        "all",
        "exists",
        "exists_one",
        "existsOne",
        "map",
        "filter",
        "transformList",
        "transformMap",
        "transformMapEntry",
        "optMap",
        "sortBy",
        "optFlatMap",
    }
)


def program(node: Node) -> Step:
    """The node as a function of the variables. It raises ``CelError`` when the evaluation fails."""
    if isinstance(node, Literal):
        constant = node.value
        return lambda env: constant
    if isinstance(node, Name):
        return _name(node.name)
    if isinstance(node, Member):
        return _member(node)
    if isinstance(node, ListOf):
        return _list_of(node)
    if isinstance(node, MapOf):
        return _map_of(node)
    return _call(node)


def qualified(node: Node) -> str:
    """``a.b.c`` of plain members; empty for anything else."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Member) and not node.optional and (inner := qualified(node.of)):
        return f"{inner}.{node.field}"
    return ""


def _name(name: str) -> Step:
    type_value = _TYPES.get(name)

    def run(env: Env) -> Any:
        if name in env:
            return env[name]
        if type_value is not None:
            return type_value
        raise CelError(f"no such attribute(s): {name}")

    return run


def _member(node: Member) -> Step:
    if (whole := qualified(node)) in _QUALIFIED:
        type_value = _QUALIFIED[whole]
        return lambda env: type_value
    inner, name, optional = program(node.of), node.field, node.optional

    def run(env: Env) -> Any:
        value = inner(env)
        if isinstance(value, Optional):
            return select_optional(value, name)
        if optional:
            return select_optional(Optional(True, value), name)
        if not isinstance(value, dict):
            raise CelError("no such overload")
        if name not in value:
            raise CelError(f"no such key: {name}")
        return value[name]

    return run


def select_optional(value: Optional, key: Any) -> Optional:
    if not value.present:
        return ABSENT
    inner = value.value
    if isinstance(inner, dict):
        return Optional(True, inner[key]) if key in inner else ABSENT
    if isinstance(inner, list) and isinstance(key, int):
        return Optional(True, inner[key]) if 0 <= key < len(inner) else ABSENT
    raise CelError("no such overload")


def _list_of(node: ListOf) -> Step:
    items = [(program(item), index in node.optional) for index, item in enumerate(node.items)]

    def run(env: Env) -> Any:
        result = []
        for step, optional in items:
            value = step(env)
            if not optional:
                result.append(value)
            elif value.present:
                result.append(value.value)
        return result

    return run


def _map_of(node: MapOf) -> Step:
    entries = [(program(key), program(value), optional) for key, value, optional in node.entries]

    def run(env: Env) -> Any:
        result: dict[Any, Any] = {}
        for key_step, value_step, optional in entries:
            key, value = key_step(env), value_step(env)
            if optional:
                if not value.present:
                    continue
                value = value.value
            if key in result:
                raise CelError(f"Failed with repeated key: {operators.to_string(key)}")
            result[key] = value
        return result

    return run


def _call(node: Call) -> Step:
    name = node.function
    if name == "_&&_":
        return _logical(node, decides=False)
    if name == "_||_":
        return _logical(node, decides=True)
    if name == "_?_:_":
        return _ternary(node)
    if name == "has" and node.target is None and len(node.args) == 1 and isinstance(node.args[0], Member):
        return _has(node.args[0])
    if node.target is not None and name in MACROS and len(node.args) >= 2 and isinstance(node.args[0], Name):
        return _macro(node)
    steps = [program(arg) for arg in node.args]
    if node.target is not None:
        space = qualified(node.target)
        if space and f"{space}.{name}" in functions.GLOBAL:
            whole = functions.GLOBAL[f"{space}.{name}"]
            return lambda env: whole(*(step(env) for step in steps))
        target = program(node.target)
        method = functions.METHODS.get(name)
        if method is None:
            raise CelError(f"no such function: {name}")
        bound = method
        return lambda env: _apply(bound, name, [target(env), *(step(env) for step in steps)])
    function = functions.GLOBAL.get(name)
    if function is None:
        raise CelError(f"no such function: {name}")
    called = function
    if len(steps) == 2:
        left, right = steps
        return lambda env: _apply(called, name, [left(env), right(env)])
    return lambda env: _apply(called, name, [step(env) for step in steps])


def _apply(function: values.Function, name: str, args: list[Any]) -> Any:
    try:
        return function(*args)
    except (TypeError, AttributeError, KeyError) as problem:
        # A dynamic value of a type for which there is no overload: cel-go finds out at run time as well.
        raise CelError("no such overload") from problem


def _logical(node: Call, *, decides: bool) -> Step:
    left, right = (program(arg) for arg in node.args)

    def run(env: Env) -> Any:
        try:
            first = left(env)
        except CelError as problem:
            if right(env) is decides:
                return decides
            raise problem
        if first is decides:
            return decides
        second = right(env)
        if second is decides:
            return decides
        if isinstance(first, bool) and isinstance(second, bool):
            return not decides
        raise CelError("no such overload")

    return run


def _ternary(node: Call) -> Step:
    test, yes, no = (program(arg) for arg in node.args)

    def run(env: Env) -> Any:
        chosen = test(env)
        if not isinstance(chosen, bool):
            raise CelError("no such overload")
        return yes(env) if chosen else no(env)

    return run


def _has(member: Member) -> Step:
    inner, name = program(member.of), member.field

    def run(env: Env) -> bool:
        value = inner(env)
        if isinstance(value, Optional):
            return select_optional(value, name).present
        if not isinstance(value, dict):
            raise CelError("no such overload")
        return name in value

    return run


def _pairs(value: Any, two: bool) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, list):
        yield from enumerate(value) if two else ((item,) for item in value)
    elif isinstance(value, dict):
        yield from value.items() if two else ((key,) for key in value)
    else:
        raise CelError("no such overload")


def _macro(node: Call) -> Step:
    assert node.target is not None
    target, name = program(node.target), node.function
    if name in ("optMap", "optFlatMap"):
        return _optional_macro(node, target)
    two = len(node.args) >= 2 and isinstance(node.args[1], Name) and len(node.args) >= 3 and name not in ("map",)
    names = tuple(arg.name for arg in node.args[: 2 if two else 1] if isinstance(arg, Name))
    bodies = [program(arg) for arg in node.args[len(names) :]]

    def scopes(env: Env) -> Iterator[tuple[Env, tuple[Any, ...]]]:
        for bound in _pairs(target(env), two):
            yield {**env, **dict(zip(names, bound, strict=True))}, bound

    if name in ("all", "exists"):
        return _quantified(scopes, bodies[0], decides=name == "exists")
    if name in ("exists_one", "existsOne"):
        return lambda env: sum(1 for scope, _ in scopes(env) if _true(bodies[0](scope))) == 1
    test = bodies[0] if name == "filter" or len(bodies) == 2 else None
    if name == "filter":
        return lambda env: [bound[0] for scope, bound in scopes(env) if _true(bodies[0](scope))]
    last = bodies[-1]

    def kept(env: Env) -> Iterator[tuple[Env, tuple[Any, ...]]]:
        for scope, bound in scopes(env):
            if test is None or _true(test(scope)):
                yield scope, bound

    if name == "sortBy":
        return lambda env: [
            bound[0] for _, bound in sorted(((last(scope), bound) for scope, bound in scopes(env)), key=_first)
        ]
    if name == "transformMap":
        return lambda env: {bound[0]: last(scope) for scope, bound in kept(env)}
    if name == "transformMapEntry":

        def merge(env: Env) -> Any:
            merged: dict[Any, Any] = {}
            for scope, _ in kept(env):
                for key, value in last(scope).items():
                    if key in merged:
                        raise CelError(f"insert failed: key {operators.to_string(key)} already exists")
                    merged[key] = value
            return merged

        return merge
    return lambda env: [last(scope) for scope, _ in kept(env)]


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _quantified(scopes: Callable[[Env], Iterator[tuple[Env, tuple[Any, ...]]]], body: Step, *, decides: bool) -> Step:
    def run(env: Env) -> Any:
        failed: CelError | None = None
        for scope, _ in scopes(env):
            try:
                value = body(scope)
            except CelError as problem:
                failed = failed or problem
                continue
            if value is decides:
                return decides
            if not isinstance(value, bool):
                failed = failed or CelError("no such overload")
        if failed is not None:
            raise failed
        return not decides

    return run


def _optional_macro(node: Call, target: Step) -> Step:
    variable = node.args[0]
    assert isinstance(variable, Name)
    name, body, flat = variable.name, program(node.args[1]), node.function == "optFlatMap"

    def run(env: Env) -> Any:
        value = target(env)
        if not isinstance(value, Optional):
            raise CelError("no such overload")
        if not value.present:
            return ABSENT
        result = body({**env, name: value.value})
        return result if flat else Optional(True, result)

    return run


def _true(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError("no such overload")
    return value
