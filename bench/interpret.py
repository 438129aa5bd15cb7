"""What it costs to ask a script: one object of 4 kB, against `json.loads` of the same object.

Waiting time, because the worker process does the work; the best of several rounds: a shared machine makes every figure
larger and no figure smaller. Garbage collection of Python is off, as it is while the daemon plans.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

from gitfed.edges.lua import Lua
from gitfed.interpret import kube_module
from gitfed.interpret.registry import Interpreter, Operation, OperationInputs
from gitfed.interpret.scripted import Scripted
from gitfed.model.script import Script

COUNT = 400
ROUNDS = 6
CUSTOM = 5000

_SCRIPTS = {
    Operation.REPLICA: "function GetReplicas(obj)\n  return obj.spec.replicas, {resourceRequest = {cpu = '100m'}}\nend",
    Operation.HEALTH: "function InterpretHealth(obj)\n  return obj.spec.replicas == 3\nend",
    Operation.REVISE: "function ReviseReplica(obj, n)\n  obj.spec.replicas = n\n  return obj\nend",
    Operation.DEPENDENCY: "function GetDependencies(obj)\n  local found = {}\n  found[1] = {apiVersion = 'v1', "
    "kind = 'ConfigMap', namespace = obj.metadata.namespace, name = 'config'}\n  return found\nend",
}
_PATTERN = (
    "function ReflectStatus(obj)\n  local text = obj.metadata.annotations.note\n"
    "  return {{first = string.match(text, '{}') or 'none'}}\nend"
)
_ORDINARY = Script("pattern", _PATTERN.format("^(.-)-(.-)-(.-)-(.-)-(.-)$"))
_SLOW = Script("slow pattern", _PATTERN.format(".-.-.-.-!"))
"""Some fifty thousand ways to match twenty characters, all of which are tried."""


def template(number: int) -> dict[str, Any]:
    """A Deployment-like object of 4.0 kB, no two alike."""
    containers = [
        {
            "name": f"c{k}", "image": f"registry.example.com/team/app-{k}:1.2.3",
            "ports": [{"containerPort": 8080 + k, "name": f"p{k}", "protocol": "TCP"}],
            "env": [{"name": f"VARIABLE_{j}", "value": f"some value number {j} of {number}"} for j in range(7)],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 5},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/config"}],
        }
        for k in range(4)
    ]  # fmt: skip
    return {
        "apiVersion": "e.com/v1", "kind": "Widget",
        "metadata": {"name": f"w{number}", "namespace": "shop", "labels": {"app": "web", "tier": "front"},
                     "annotations": {"note": "x" * 20, "about": "y" * 40}},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                 "template": {"metadata": {"labels": {"app": "web"}},
                              "spec": {"containers": containers, "nodeSelector": {"disk": "ssd"},
                                       "volumes": [{"name": "config", "configMap": {"name": "config"}}]}}},
    }  # fmt: skip


def run() -> list[tuple[str, str]]:
    fresh = iter(range(10**9))
    sets = [[template(next(fresh)) for _ in range(COUNT)] for _ in range(ROUNDS)]
    texts = [json.dumps(one) for one in sets[0]]
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        with Lua(kube_module.NAME) as lua:
            base = min(_each(json.loads, texts) for _ in range(ROUNDS))
            rows = [("size of the object", f"{len(texts[0])} bytes"), ("json.loads of it", f"{base:.1f} µs")]
            interpreter = _interpreter(lua)
            again = template(next(fresh))
            interpreter.replicas(again)
            same = min(_each(interpreter.replicas, [again] * COUNT) for _ in range(ROUNDS))
            rows += [
                _row("replicas, never asked before, many at once (target ≤ 150 µs)",
                     _asked(lua, Operation.REPLICA, _ORDINARY, sets[0::3], together=True), base),
                _row("the same one by one", _asked(lua, Operation.REPLICA, _ORDINARY, sets[1::3], together=False),
                     base),
                _row("the same object again (target ≤ 2 µs)", same, base),
                _row("by a pattern, many at once", _asked(lua, Operation.STATUS, _ORDINARY, sets[0::2], together=True),
                     base),
                _row("by a pattern of 50,000 ways, many at once",
                     _asked(lua, Operation.STATUS, _SLOW, sets, together=True), base),
            ]  # fmt: skip
            rows.append(("5,000 custom objects, four operations each (target ≤ 3 s)", f"{_custom(lua, fresh):.2f} s"))
    finally:
        gc.enable()
    return rows


def _interpreter(lua: Lua, pattern: Script = _ORDINARY) -> Interpreter:
    rules = {("e.com/v1", "Widget", operation): (Script(operation, text),) for operation, text in _SCRIPTS.items()}
    rules["e.com/v1", "Widget", Operation.STATUS] = (pattern,)
    return Interpreter([Scripted("customization", rules, lua.run_all)])


def _each(ask: Callable[[Any], object], items: Iterable[Any]) -> float:
    """µs of processor time for one."""
    asked = list(items)
    began = time.process_time()
    for item in asked:
        ask(item)
    return (time.process_time() - began) / len(asked) * 1e6


def _asked(
    lua: Lua, operation: Operation, pattern: Script, sets: list[list[dict[str, Any]]], *, together: bool
) -> float:
    """µs of waiting for one, all objects asked about at once or one after another."""
    interpreter = _interpreter(lua, pattern)
    interpreter.status(template(-1))
    ask = {Operation.REPLICA: interpreter.replicas, Operation.STATUS: interpreter.status}[operation]
    best = float("inf")
    for bodies in sets:
        began = time.perf_counter()
        if together:
            interpreter.prepare((operation, OperationInputs(body)) for body in bodies)
        for body in bodies:
            ask(body)
        best = min(best, (time.perf_counter() - began) / len(bodies) * 1e6)
    return best


def _custom(lua: Lua, fresh: Iterable[int]) -> float:
    """Seconds for all objects, asked as a plan does: one operation of all of them after another."""
    bodies = [template(number) for number, _ in zip(fresh, range(CUSTOM), strict=False)]
    interpreter = _interpreter(lua)
    began = time.perf_counter()
    for operation, ask in (
        (Operation.REPLICA, interpreter.replicas), (Operation.HEALTH, interpreter.health),
        (Operation.DEPENDENCY, interpreter.dependencies),
    ):  # fmt: skip
        interpreter.prepare((operation, OperationInputs(body)) for body in bodies)
        for body in bodies:
            ask(body)
    interpreter.prepare((Operation.REVISE, OperationInputs(body, replicas=2)) for body in bodies)
    for body in bodies:
        interpreter.revise_replica(body, 2)
    return time.perf_counter() - began


def _row(label: str, micros: float, base: float) -> tuple[str, str]:
    return label, f"{micros:.1f} µs ({micros / base:.1f} × json.loads)"
