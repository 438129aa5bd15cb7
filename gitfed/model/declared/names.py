"""The syntax of names in Kubernetes: what may name an object, a label, a label's value."""

from __future__ import annotations

import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def why_not_dns_label(name: str, longest: int = 63) -> str:
    """ "" if the name is a DNS-1123 label, else why not."""
    if not name:
        return "is empty"
    if len(name) > longest:
        return f"has {len(name)} characters, at most {longest} are allowed"
    if not _LABEL.fullmatch(name):
        return "must be lowercase letters, digits and - only, with a letter or digit at both ends"
    return ""


def why_not_dns_subdomain(name: str) -> str:
    if not name:
        return "is empty"
    if len(name) > 253:
        return f"has {len(name)} characters, at most 253 are allowed"
    if not _SUBDOMAIN.fullmatch(name):
        return "must be lowercase letters, digits, - and . only, with a letter or digit at both ends of each part"
    return ""


def why_not_path_segment(name: str) -> str:
    """RBAC names and CRD-defined oddities: anything that can be one segment of a URL path."""
    if not name:
        return "is empty"
    if len(name) > 253:
        return f"has {len(name)} characters, at most 253 are allowed"
    if name in (".", "..") or "/" in name or "%" in name:
        return "must not hold / or %, nor be . or .."
    return ""


def why_not_label_key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if slash and (why := why_not_dns_subdomain(prefix)):
        return f"has a prefix that is not a DNS name: it {why}"
    if not name:
        return "has no name part" if slash else "is empty"
    if len(name) > 63:
        return f"has {len(name)} characters, at most 63 are allowed"
    if not _QUALIFIED.fullmatch(name):
        return "must be letters, digits, -, _ and . only, with a letter or digit at both ends"
    return ""


def why_not_label_value(value: str) -> str:
    if len(value) > 63:
        return f"has {len(value)} characters, at most 63 are allowed"
    if value and not _QUALIFIED.fullmatch(value):
        return "must be letters, digits, -, _ and . only, with a letter or digit at both ends"
    return ""
