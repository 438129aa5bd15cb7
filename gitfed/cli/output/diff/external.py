"""A diff program of the user's choice: `KUBECTL_EXTERNAL_DIFF`, as kubectl calls it.

Both sides are written as files into two folders, which the program gets as its last arguments. Its code 0 means no
difference, 1 a difference, anything else a failure. The folders are readable by their owner alone and go away.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from gitfed.errors import UsageError

_ARGUMENT = re.compile(r"[A-Za-z0-9=-]+")


def program() -> list[str]:
    """The command of KUBECTL_EXTERNAL_DIFF; empty when none is named. Raises UsageError when it does not exist."""
    words = shlex.split(os.environ.get("KUBECTL_EXTERNAL_DIFF", ""))
    if not words:
        return []
    executable = shutil.which(words[0])
    if executable is None:
        raise UsageError(f"KUBECTL_EXTERNAL_DIFF names {words[0]!r}, which is not a program here")
    # kubectl's rule: only plain arguments are passed on.
    return [executable, *(word for word in words[1:] if _ARGUMENT.fullmatch(word))]


def run(command: list[str], files: Iterable[tuple[str, str, str]]) -> bool:
    """Whether the program saw differences. `files`: name, text before, text after; an empty text is no file.

    Raises UsageError when the program fails.
    """
    with tempfile.TemporaryDirectory(prefix="gitfed-") as folder:
        base, head = Path(folder, "BASE"), Path(folder, "HEAD")
        base.mkdir(0o700)
        head.mkdir(0o700)
        for name, before, after in files:
            for side, content in ((base, before), (head, after)):
                if content:
                    path = side / name
                    path.touch(0o600)
                    path.write_text(content, encoding="utf-8")
        sys.stdout.flush()
        code = subprocess.run([*command, str(base), str(head)], check=False).returncode
    if code not in (0, 1):
        raise UsageError(f"{command[0]} ended with {code}", hint="KUBECTL_EXTERNAL_DIFF names it")
    return code == 1
