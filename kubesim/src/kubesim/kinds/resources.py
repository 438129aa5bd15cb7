"""Amounts of resources: rounding, comparing, and what a pod needs in total.

Maps of amounts (`{"cpu": "250m", "memory": "1Gi"}`) stay maps of canonical text; they become numbers only to be
compared or added. A pod needs, for each resource, the larger of what its containers need together and what its greatest
init container needs beside the sidecars started before it.

Kubernetes: PodRequests and PodLimits of component-helpers; SetDefaults_ResourceList.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from kubesim import quantity
from kubesim.kinds import fields
from kubesim.kinds.fields import Body

_NANO = 10**9


def value(amount: str | int | float) -> Fraction:
    """The number behind a stored amount."""
    return Fraction(quantity.parse(amount).nano, _NANO)


def rounded(amounts: Body) -> Body:
    """Amounts rounded up to thousandths, the smallest the server stores; the same map if nothing is finer."""
    fine = {name: amount for name, amount in amounts.items() if quantity.parse(amount).nano % 10**6}
    if not fine:
        return amounts
    return {**amounts, **{name: _rounded(amount) for name, amount in fine.items()}}


def _rounded(amount: str) -> str:
    found = quantity.parse(amount)
    # Away from zero, as the server does.
    milli = -(-abs(found.nano) // 10**6)
    return str(quantity.Quantity(milli * 10**6 * (1 if found.nano > 0 else -1), found.format))


def add(left: Body, right: Body) -> Body:
    """The sum of two maps of amounts; an amount keeps the suffixes of the left one."""
    total = dict(left)
    for name, amount in right.items():
        total[name] = _sum((left[name], amount)) if name in left else amount
    return total


def _sum(amounts: Iterable[str]) -> str:
    return str(quantity.total(quantity.parse(amount) for amount in amounts))


def _larger(left: Body, right: Body) -> Body:
    out = dict(left)
    for name, amount in right.items():
        if name not in out or value(amount) > value(out[name]):
            out[name] = amount
    return out


def of_pod(spec: Body, key: str) -> Body:
    """What a pod of this spec requests or is limited to (`key`: `requests`, `limits`), containers only."""
    running: Body = {}
    for container in fields.items(spec, "containers"):
        running = add(running, fields.obj(container, "resources", key))
    starting: Body = {}
    sidecars: Body = {}
    for container in fields.items(spec, "initContainers"):
        own = fields.obj(container, "resources", key)
        if container.get("restartPolicy") == "Always":
            sidecars = add(sidecars, own)
            starting = _larger(starting, sidecars)
        else:
            starting = _larger(starting, add(own, sidecars))
    return _larger(add(running, sidecars), starting)


def of_pod_in_all(spec: Body, key: str) -> Body:
    """As `of_pod`, with amounts given for the pod as a whole and its overhead."""
    total = {**of_pod(spec, key), **fields.obj(spec, "resources", key)}
    overhead = fields.obj(spec, "overhead")
    if key == "limits":
        overhead = {name: amount for name, amount in overhead.items() if name in total}
    return add(total, overhead)
