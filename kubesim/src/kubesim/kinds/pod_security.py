"""Complaints about security contexts of pods and containers.

Options for Windows are taken as they are. Kubernetes: ValidateSecurityContext, validatePodSpecSecurityContext.
"""

from __future__ import annotations

import re
from typing import Final

from kubesim.kinds import fields, formats
from kubesim.kinds.fields import Body, Errors
from kubesim.kinds.pod_volumes import descending

_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_PART: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = f"^({_SYSCTL_PART}[\\./])*{_SYSCTL_PART}$"


def container(context: Body | None, path: str, *, host_users: bool) -> Errors:
    """Complaints about a container's security context."""
    if context is None:
        return []
    errors = _ids(context, path, "runAsUser", "runAsGroup")
    mount = context.get("procMount")
    if mount is not None:
        errors += (
            []
            if mount in ("Default", "Unmasked")
            else fields.unsupported(f"{path}.procMount", mount, "Default", "Unmasked")
        )
        if host_users and mount == "Unmasked":
            errors += fields.invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    errors += _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            errors += fields.invalid(
                path, context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            )
        if "CAP_SYS_ADMIN" in fields.items(context, "capabilities", "add"):
            errors += fields.invalid(
                path, context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            )
    return errors + _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def pod(context: Body | None, spec: Body, path: str) -> Errors:
    """Complaints about a pod's security context."""
    if context is None:
        return []
    errors = _ids(context, path, "fsGroup", "runAsUser", "runAsGroup")
    for at, group in enumerate(fields.items(context, "supplementalGroups")):
        errors += fields.invalid(f"{path}.supplementalGroups[{at}]", group, *formats.user_or_group(group))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        errors += fields.invalid(
            f"{path}.shareProcessNamespace", True, "ShareProcessNamespace and HostPID cannot both be enabled"
        )
    errors += _sysctls(fields.items(context, "sysctls"), f"{path}.sysctls")
    errors += _choice(context, path, "fsGroupChangePolicy", "Always", "OnRootMismatch")
    errors += _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    errors += _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile")
    errors += _choice(context, path, "supplementalGroupsPolicy", "Merge", "Strict")
    return errors + _choice(context, path, "seLinuxChangePolicy", "Recursive")


def _ids(context: Body, path: str, *keys: str) -> Errors:
    return fields.joined(
        fields.invalid(f"{path}.{key}", context[key], *formats.user_or_group(context[key]))
        for key in keys
        if context.get(key) is not None
    )


def _choice(context: Body, path: str, key: str, *choices: str) -> Errors:
    value = context.get(key)
    return [] if value is None or value in choices else fields.unsupported(f"{path}.{key}", value, *choices)


def _sysctls(found: list[Body], path: str) -> Errors:
    errors: Errors = []
    names: set[str] = set()
    for at, sysctl in enumerate(found):
        name, here = fields.text(sysctl, "name"), f"{path}[{at}].name"
        if not name:
            errors += fields.required(here)
        elif len(name) > 253 or not re.search(_SYSCTL, name):
            errors += fields.invalid(here, name, f"must have at most 253 characters and match regex {_SYSCTL}")
        elif name in names:
            errors += fields.duplicate(here, name)
        names.add(name)
    return errors


def _seccomp(profile: Body | None, path: str) -> Errors:
    if profile is None:
        return []
    kind, local = fields.text(profile, "type"), profile.get("localhostProfile")
    if not kind:
        errors = fields.required(f"{path}.type", "type is required when seccompProfile is set")
    else:
        errors = [] if kind in _PROFILES else fields.unsupported(f"{path}.type", kind, *_PROFILES)
    where = f"{path}.localhostProfile"
    if kind == "Localhost":
        if local is None:
            return errors + fields.required(where, "must be set when seccomp type is Localhost")
        return errors + descending(local, where)
    if local is not None:
        shown = {"Type": kind, "LocalhostProfile": local}
        errors += fields.invalid(where, shown, "can only be set when seccomp type is Localhost")
    return errors


def _app_armor(profile: Body | None, path: str) -> Errors:
    if profile is None:
        return []
    kind, local = fields.text(profile, "type"), profile.get("localhostProfile")
    where = f"{path}.localhostProfile"
    if kind == "Localhost":
        if local is None or not local.strip():
            return fields.required(where, "must be set when AppArmor type is Localhost")
        errors = fields.invalid(where, local, "must not be padded with whitespace") if local != local.strip() else []
        return errors + (fields.too_long(where, 4095) if len(local) > 4095 else [])
    if not kind:
        return fields.required(f"{path}.type", "type is required when appArmorProfile is set")
    if kind not in _PROFILES:
        return fields.unsupported(f"{path}.type", kind, *_PROFILES)
    return [] if local is None else fields.invalid(where, local, "can only be set when AppArmor type is Localhost")
