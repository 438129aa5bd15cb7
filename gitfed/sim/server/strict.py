"""What is wrong with a YAML body, in the words of the server's YAML reader."""

from __future__ import annotations

import re
from typing import Final

from gitfed.text import yaml
from gitfed.text.construct import YamlError

_REPEATED: Final = re.compile(r"the key (?P<key>.*) stands twice", re.DOTALL)
_CONTEXT: Final = re.compile(r" while (?:parsing|scanning) .*", re.DOTALL)


def yaml_complaint(error: YamlError) -> str:
    fault = error.fault
    said = _CONTEXT.sub("", fault.message.removeprefix("not valid YAML: "))
    return f"yaml: line {fault.line}: {said}"


def yaml_duplicates(data: bytes) -> list[str]:
    """``line 7: key "k" already set in map``, one for each repeated key of the first document."""
    found: list[str] = []
    for fault in yaml.parse(data).faults:
        repeated = _REPEATED.fullmatch(fault.message)
        if repeated is not None and not fault.warning:
            found.append(f'line {fault.line}: key "{repeated["key"]}" already set in map')
    return found
