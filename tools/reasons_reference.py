"""Writes docs/reference/reasons.md: every code that a change may carry, with its sentence.

python tools/reasons_reference.py          write the page
python tools/reasons_reference.py --check  exit with 1 if it is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

from gitfed.model.reason import IF_PRESENT, ONCE_EMPTY, SENTENCES, ReasonCode

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "reasons.md"

HEAD = """# Reasons

Why a change is as it is. JSON outputs carry the code as `reasonCode` beside `reason`, its sentence. A code keeps its
meaning from version to version; sentences may be worded anew, so programs go by codes. A change that needs no
explanation has no code. What stands in `{{braces}}` differs from change to change.

Two additions may follow a sentence: `{once_empty}` (a namespace that goes last) and `{if_present}` (a preview that
sees no cluster).

*Made from the code by `tools/reasons_reference.py`.*

| Code | Sentence |
|---|---|
"""


def page() -> str:
    rows = (f"| `{code.value}` | {SENTENCES[code]} |\n" for code in ReasonCode if code is not ReasonCode.NONE)
    return HEAD.format(once_empty=ONCE_EMPTY.strip(", "), if_present=IF_PRESENT.strip()) + "".join(rows)


def main() -> int:
    if "--check" in sys.argv[1:]:
        return 0 if PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
