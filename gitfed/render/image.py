"""Image references taken apart, changed and put together again (Karmada: policies §4.5).

A reference is `registry/repository:tag@digest`. What stands before the first `/` is a registry only if it could be a
host (it has a dot or a colon, or is `localhost`): `team/web` has none.

One difference on purpose: a reference with tag *and* digest keeps its digest when something else is changed.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gitfed.text.values import dataclass

_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?"
_TAG = r"[\w][\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"((?:{_HOST}/)?{_COMPONENT}(?:/{_COMPONENT})*)(?::({_TAG}))?(?:@({_DIGEST}))?", re.ASCII)
_ONLY_TAG = re.compile(_TAG, re.ASCII)
_ONLY_DIGEST = re.compile(_DIGEST, re.ASCII)
_HEX_LENGTH = {"sha256": 64, "sha384": 96, "sha512": 128}
_LONGEST_NAME = 255


class ImageError(ValueError):
    """The text is no image reference."""


@dataclass(frozen=True, slots=True)
class Image:
    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    def __str__(self) -> str:
        name = f"{self.registry}/{self.repository}" if self.registry else self.repository
        return name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


def parse(text: str) -> Image:
    match = _REFERENCE.fullmatch(text)
    if match is None or len(match.group(1)) > _LONGEST_NAME:
        raise ImageError(f"{text!r} is no image reference")
    name, tag, digest = match.group(1), match.group(2) or "", match.group(3) or ""
    if digest:
        algorithm, _, value = digest.partition(":")
        if _HEX_LENGTH.get(algorithm) != len(value) or value != value.lower():
            raise ImageError(f"{text!r}: {digest!r} is no digest (sha256, sha384 or sha512 in lower case)")
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return Image(first, rest, tag, digest)
    return Image("", name, tag, digest)


def change(image: Image, component: str, operator: str, value: str) -> Image:
    """One entry of an imageOverrider. `component` is Registry, Repository or Tag."""
    match component:
        case "Registry":
            return replace(image, registry=_text(image.registry, operator, value))
        case "Repository":
            return replace(image, repository=_text(image.repository, operator, value))
        case _:
            return _change_tag(image, operator, value)


def _text(old: str, operator: str, value: str) -> str:
    match operator:
        case "add":
            return old + value
        case "replace":
            return value
        case _:
            return ""


def _change_tag(image: Image, operator: str, value: str) -> Image:
    """Tag and digest are one component. Text that is neither changes nothing, as in the reference."""
    text = _text(image.tag or image.digest, operator, value)
    if operator == "remove" or _ONLY_TAG.fullmatch(text):
        return replace(image, tag=text, digest="")
    if _ONLY_DIGEST.fullmatch(text):
        return replace(image, tag="", digest=text)
    return image
