"""What a user may do: role-based access control over the roles and bindings stored in the cluster.

Members of ``system:masters`` may do everything and are not even looked up. Everybody else may do what some rule of
some role bound to them, or to a group of theirs, allows. Whoever writes roles and bindings may only pass on what they
hold themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kubesim import status
from kubesim.server.request import User
from kubesim.server.world import World

if TYPE_CHECKING:
    from kubesim.server.call import Call

Body = dict[str, Any]

GROUP: Final = "rbac.authorization.k8s.io"
MASTERS: Final = "system:masters"


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for: a verb on a resource, or on a path if ``path`` is set."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    reason: str = ""


def decide(world: World, user: User, asked: Attributes) -> Verdict:
    if MASTERS in user.groups:
        return Verdict(True)
    for rule, reason in rules_for(world, user, asked.namespace):
        if permits(rule, asked):
            return Verdict(True, f"RBAC: allowed by {reason}")
    missing = missing_roles(world, user, asked.namespace)
    return Verdict(False, f"RBAC: {missing}" if missing else "")


def check(world: World, user: User, asked: Attributes) -> None:
    """403 with what is missing."""
    verdict = decide(world, user, asked)
    if not verdict.allowed:
        raise refusal(user, asked, verdict.reason)


def refusal(user: User, asked: Attributes, reason: str = "") -> status.ApiError:
    who = f"User {status.quote(user.name)}"
    why = f": {reason}" if reason else ""
    if asked.path:
        text = f"forbidden: {who} cannot {asked.verb} path {status.quote(asked.path)}{why}"
        return status.ApiError(403, "Forbidden", text, {})
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    what = f'resource "{asked.full_resource}" in API group "{asked.group}"'
    return status.forbidden(asked.group, asked.resource, asked.name, f"{who} cannot {asked.verb} {what} {where}{why}")


def rules_for(world: World, user: User, namespace: str) -> Iterator[tuple[Body, str]]:
    """Every rule that applies to a user there, with the words for what grants it."""
    for binding, where, subject in _bindings(world, user, namespace):
        name = binding["metadata"]["name"]
        name = status.quote(f"{name}/{where}" if where else name)
        kind = "RoleBinding" if where else "ClusterRoleBinding"
        for rule in (_role(world, binding["roleRef"], where) or {}).get("rules") or ():
            yield rule, f"{kind} {name} of {_role_words(binding)} to {subject}"


def missing_roles(world: World, user: User, namespace: str) -> str:
    """Roles that are bound to a user there and do not exist, as a refusal tells of them; "" if there are none."""
    found = [
        f"{ref['kind'].lower()}.{GROUP} {status.quote(ref['name'])} not found"
        for binding, where, _ in _bindings(world, user, namespace)
        if _role(world, ref := binding["roleRef"], where) is None
    ]
    found = list(dict.fromkeys(found))
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _bindings(world: World, user: User, namespace: str) -> Iterator[tuple[Body, str, str]]:
    """What binds a user: the binding, its namespace ("" for those of the cluster), and the subject in words."""
    lookup = world.lookup
    for binding in lookup.list(f"clusterrolebindings.{GROUP}"):
        if subject := _subject(binding, user, ""):
            yield binding, "", subject
    if not namespace:
        return
    for binding in lookup.list(f"rolebindings.{GROUP}", namespace):
        if subject := _subject(binding, user, namespace):
            yield binding, namespace, subject


def _role_words(binding: Body) -> str:
    return f"{binding['roleRef']['kind']} {status.quote(binding['roleRef']['name'])}"


def _role(world: World, ref: Body, namespace: str) -> Body | None:
    if ref["kind"] == "ClusterRole":
        return world.lookup.get(f"clusterroles.{GROUP}", "", ref["name"])
    return world.lookup.get(f"roles.{GROUP}", namespace, ref["name"])


def _subject(binding: Body, user: User, namespace: str) -> str:
    """The subject of a binding that is this user, in words; "" if none is."""
    for subject in binding.get("subjects") or ():
        kind, name = subject["kind"], subject["name"]
        if kind == "User" and name == user.name:
            return f"User {status.quote(name)}"
        if kind == "Group" and name in user.groups:
            return f"Group {status.quote(name)}"
        if kind == "ServiceAccount":
            where = subject.get("namespace") or namespace
            if user.name == f"system:serviceaccount:{where}:{name}":
                return f"ServiceAccount {status.quote(f'{name}/{where}')}"
    return ""


def permits(rule: Body, asked: Attributes) -> bool:
    verbs = rule.get("verbs") or ()
    if "*" not in verbs and asked.verb not in verbs:
        return False
    if asked.path:
        return any(_path_matches(pattern, asked.path) for pattern in rule.get("nonResourceURLs") or ())
    groups, resources, names = rule.get("apiGroups") or (), rule.get("resources") or (), rule.get("resourceNames") or ()
    if "*" not in groups and asked.group not in groups:
        return False
    if names and asked.name not in names:
        return False
    wildcard = f"*/{asked.subresource}" if asked.subresource else ""
    return "*" in resources or asked.full_resource in resources or bool(wildcard and wildcard in resources)


def _path_matches(pattern: str, path: str) -> bool:
    return pattern in ("*", path) or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


# who may grant ------------------------------------------------------------------------------------------------------


def check_grants(call: Call, body: Body, live: Body | None = None) -> None:
    """403 if a role or binding would give away more than its writer holds (Kubernetes: the policy-based storage of
    RBAC)."""
    kind = call.kind
    if kind.group != GROUP or MASTERS in call.user.groups:
        return
    if kind.kind in ("Role", "ClusterRole"):
        if live is not None and live.get("rules") == body.get("rules"):
            return
        verb = "escalate"
        rules: Sequence[Body] | None = body.get("rules") or ()
        name, resource = body["metadata"].get("name", ""), kind.plural
    else:
        ref = body.get("roleRef") or {}
        if live is not None and (live.get("roleRef"), live.get("subjects")) == (ref, body.get("subjects")):
            return
        verb, rules = "bind", _bound_rules(call, ref)
        name, resource = ref.get("name", ""), "clusterroles" if ref.get("kind") == "ClusterRole" else "roles"
    asked = Attributes(verb, GROUP, "", resource, "", call.namespace, name)
    if decide(call.world, call.user, asked).allowed:
        return
    if rules is None:
        raise status.not_found(kind.group, kind.plural, name)
    lacking = _lacking(call.world, call.user, call.namespace, rules)
    if lacking:
        listed = "\n".join(_rule_text(rule) for rule in lacking)
        groups = " ".join(status.quote(group) for group in call.user.groups)
        who = f"user {status.quote(call.user.name)} (groups=[{groups}])"
        text = f"{who} is attempting to grant RBAC permissions not currently held:\n{listed}"
        raise status.forbidden(kind.group, kind.plural, body["metadata"].get("name", ""), text)


def _bound_rules(call: Call, ref: Body) -> Sequence[Body] | None:
    """What a binding hands out; ``None`` if there is no such role."""
    if ref.get("kind") not in ("Role", "ClusterRole"):
        return ()
    where = "" if ref["kind"] == "ClusterRole" else call.namespace
    found = call.world.lookup.get(f"{ref['kind'].lower()}s.{GROUP}", where, ref.get("name") or "")
    return None if found is None else found.get("rules") or ()


def _lacking(world: World, user: User, namespace: str, rules: Iterable[Body]) -> list[Body]:
    """The single permissions in ``rules`` that no rule of the user covers, as the message lists them."""
    held = [rule for rule, _ in rules_for(world, user, namespace)]
    missing: list[Body] = []
    for rule in rules:
        for single in _broken_down(rule):
            if not any(_covers(owner, single) for owner in held):
                missing.append(single)
    return _compact(missing)


def _broken_down(rule: Body) -> Iterator[Body]:
    for path in rule.get("nonResourceURLs") or ():
        for verb in rule.get("verbs") or ():
            yield {"nonResourceURLs": [path], "verbs": [verb]}
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in rule.get("verbs") or ():
                for name in rule.get("resourceNames") or (None,):
                    single: Body = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                    if name is not None:
                        single["resourceNames"] = [name]
                    yield single


def _covers(owner: Body, single: Body) -> bool:
    def has(key: str) -> bool:
        held = owner.get(key) or ()
        return "*" in held or single[key][0] in held

    if not has("verbs"):
        return False
    if "nonResourceURLs" in single:
        path = single["nonResourceURLs"][0]
        return any(_path_matches(pattern, path) for pattern in owner.get("nonResourceURLs") or ())
    if not has("apiGroups"):
        return False
    held, wanted = owner.get("resources") or (), single["resources"][0]
    subresource = wanted.partition("/")[2]
    if "*" not in held and wanted not in held and not (subresource and f"*/{subresource}" in held):
        return False
    names = owner.get("resourceNames") or ()
    return not names or (single.get("resourceNames") or [""])[0] in names


def _compact(rules: list[Body]) -> list[Body]:
    """Verbs of the same resource together."""
    merged: dict[str, Body] = {}
    for rule in rules:
        key = str(
            [rule.get("apiGroups"), rule.get("resources"), rule.get("resourceNames"), rule.get("nonResourceURLs")]
        )
        if key in merged:
            merged[key]["verbs"].append(rule["verbs"][0])
        else:
            merged[key] = {**rule, "verbs": list(rule["verbs"])}
    return sorted(merged.values(), key=_rule_text)


def _rule_text(rule: Body) -> str:
    parts = [
        f"{title}:[{' '.join(status.quote(value) for value in rule[key])}]"
        for key, title in (
            ("nonResourceURLs", "NonResourceURLs"),
            ("apiGroups", "APIGroups"),
            ("resources", "Resources"),
            ("resourceNames", "ResourceNames"),
            ("verbs", "Verbs"),
        )
        if rule.get(key)
    ]
    return "{" + ", ".join(parts) + "}"
