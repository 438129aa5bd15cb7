"""Makes a certificate signing request in a process of its own: `python -m gitfed.edges.signing_process NAME GROUP`.

An agent needs one once in its certificate's life. `cryptography`, which makes it, would stay in the agent's memory.
"""

from __future__ import annotations

import os
import subprocess
import sys

from gitfed.errors import InputError

_SECONDS = 60.0
"""A busy machine is slow at it."""
_REFUSED = 3
"""How the process ends when its standard input is no key of ours; its output says why."""


def request(key: bytes, common_name: str, organization: str) -> bytes:
    """As `signing_request.make`, which this takes some tenths of a second more than. Nothing of our environment goes
    along. Raises InputError, OSError, subprocess.SubprocessError when there is no answer."""
    done = subprocess.run(
        [sys.executable, "-m", __name__, common_name, organization],
        input=key,
        capture_output=True,
        timeout=_SECONDS,
        env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "LC_ALL": "C.UTF-8"},
        cwd="/",
        check=False,
    )
    if done.returncode == _REFUSED:
        raise InputError(done.stdout.decode())
    done.check_returncode()
    return done.stdout


def main(common_name: str, organization: str) -> int:
    from gitfed.edges import signing_request

    try:
        made = signing_request.make(sys.stdin.buffer.read(), common_name, organization)
    except InputError as error:
        sys.stdout.write(error.message)
        return _REFUSED
    sys.stdout.buffer.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
