"""Results of tests as JUnit XML, which every CI system reads. Written by the standard library, so nothing in a name
or message can be taken for markup; characters that XML cannot hold are made visible."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from gitfed.cli.output import plain
from gitfed.model.declared.federation import PlacementTest
from gitfed.text.values import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """One placement test, and what became of it."""

    test: PlacementTest
    given: str
    wrong: tuple[str, ...] = ()
    """What does not hold, a few lines each."""
    broken: str = ""
    """Why it could not be tried."""
    updated: str = ""
    """The snapshot that was written."""

    @property
    def failed(self) -> bool:
        return bool(self.wrong or self.broken)


def document(cases: Sequence[Case]) -> str:
    failures = sum(1 for case in cases if case.wrong and not case.broken)
    errors = sum(1 for case in cases if case.broken)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": str(errors)}
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "gitfed", **counts})
    for case in cases:
        item = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "classname": plain.clean(case.test.origin.path),
                "name": plain.clean(case.test.name),
                "file": plain.clean(case.test.origin.path),
                "line": str(case.test.origin.line),
                "time": "0",
            },
        )
        if case.broken:
            _add(item, "error", case.broken, case.given)
        elif case.wrong:
            _add(item, "failure", "\n".join(case.wrong), case.given)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add(item: ElementTree.Element, kind: str, text: str, given: str) -> None:
    text = plain.clean_lines(text)
    inner = ElementTree.SubElement(item, kind, {"message": text.splitlines()[0]})
    inner.text = f"given {plain.clean(given)}\n{text}" if given else text
