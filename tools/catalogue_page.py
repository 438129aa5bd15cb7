"""Writes docs/reference/interpreters.md from the catalogue, so that it lists what is really there.

python tools/catalogue_page.py            writes the page
python tools/catalogue_page.py --check    ends with 1 when the page is not up to date
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gitfed.edges import catalogue
from gitfed.interpret import bundled
from gitfed.interpret.registry import Operation

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "interpreters.md"

COLUMNS = (
    (Operation.REPLICA, "Replicas"),
    (Operation.COMPONENT, "Components"),
    (Operation.REVISE, "Revise"),
    (Operation.RETAIN, "Retain"),
    (Operation.HEALTH, "Health"),
    (Operation.STATUS, "Status"),
    (Operation.AGGREGATE, "Aggregate"),
    (Operation.DEPENDENCY, "Dependencies"),
)


def page() -> str:
    files = catalogue.read(with_cases=True)
    cases = Counter(case.path.rpartition("/")[0] for case in bundled.cases(files))
    return "\n".join([*_head(), *_groups(bundled.read(files), cases), *_foot()]) + "\n"


def _head() -> Iterator[str]:
    yield "# Interpreters that come with gitfed"
    yield ""
    yield "Made from the folder `interpreters/` by `tools/catalogue_page.py`; edit the catalogue, not this page."
    yield ""
    yield "An interpreter says what a kind means. The first source that has a rule for an operation of a kind decides:"
    yield ""
    yield "1. a `ResourceInterpreterCustomization` of your repository;"
    yield "2. a webhook, see [Let a webhook say what a kind means](../how-to/webhooks.md);"
    yield "3. this catalogue;"
    yield "4. what gitfed knows of Kubernetes' own kinds;"
    yield "5. for health alone and for custom resources: `status.observedGeneration` and the conditions `Ready`,"
    yield "   `Available`, `Synced` and `Stalled`, as far as they are there."
    yield ""
    yield "| Operation | What it answers | Without a rule |"
    yield "|---|---|---|"
    yield "| Replicas | how many, and what one of them asks for | no workload |"
    yield "| Components | the same for several pod templates | Replicas counts |"
    yield "| Revise | the template with the share of one cluster | as it is |"
    yield "| Retain | what belongs to the cluster and stays | nothing but the general rules |"
    yield "| Health | whether a copy is healthy | see 5, else healthy |"
    yield "| Status | what of a copy's status is collected | all of it |"
    yield "| Aggregate | the status of all copies as one | the template's stays |"
    yield "| Dependencies | what else it needs, for `propagateDeps` | none |"
    yield ""
    yield "A kind that has Components but no Replicas is divided by nothing: it runs whole wherever it is placed. Its"
    yield "components count against capacity and quota when the gate `MultiplePodTemplatesScheduling` is on."


def _groups(bundles: tuple[bundled.Bundle, ...], cases: Counter[str]) -> Iterator[str]:
    for group, members in itertools.groupby(bundles, key=lambda bundle: bundle.api_version.partition("/")[0]):
        yield ""
        yield f"## {group}"
        yield ""
        yield f"| Version | Kind | {' | '.join(title for _, title in COLUMNS)} | Cases |"
        yield f"|---|---|{'---|' * len(COLUMNS)}---|"
        for bundle in members:
            marks = " | ".join("✓" if operation in bundle.scripts else "" for operation, _ in COLUMNS)
            version = bundle.api_version.partition("/")[2]
            yield f"| {version} | {bundle.kind} | {marks} | {cases[bundle.folder]} |"


def _foot() -> Iterator[str]:
    yield ""
    yield "## The folder of a kind"
    yield ""
    yield "`interpreters/<group>/<version>/<Kind>/` holds"
    yield ""
    yield "- `interpreter.yaml`: `apiVersion`, `kind`, and the files of `interpreters/lib/` that its scripts"
    yield "  build upon; with `like`, the folder of another version, from which operations without a file of"
    yield "  their own are taken, and their cases with them;"
    yield "- one Lua file per operation, named after it (`InterpretHealth.lua`), with the function that a"
    yield "  `ResourceInterpreterCustomization` would have;"
    yield "- `cases.yaml` and `testdata/`: at least three questions with their answers for every operation. `with` is"
    yield "  a merge patch upon the object that `from` names."
    yield ""
    yield "To change what a kind means in your fleet, put a `ResourceInterpreterCustomization` into the repository. It"
    yield "replaces the operations it has and leaves the others."


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        if not same:
            sys.stderr.write(f"{PAGE.name} is not up to date: python tools/catalogue_page.py\n")
        return 0 if same else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
