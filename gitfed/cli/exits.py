"""Exit codes: what a script may rely on.

    0    done, nothing to report
    1    diff: there are differences; interpret: answers differ, a case failed; test: a case failed;
         replay: other bytes. Never an error
    2    bad usage
    3    invalid input in the repository, or an interpreter script failed
    4    source or cluster unreachable
    5    a gate held something
    6    applied but not healthy in time
    70   a defect of gitfed itself
    130  interrupted

When several hold, the one that stands first in `PRECEDENCE` wins.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitfed import errors

OK = 0
DIFFERENT = 1
USAGE = 2
INVALID = 3
UNREACHABLE = 4
HELD = 5
UNHEALTHY = 6
DEFECT = 70
INTERRUPTED = 130

PRECEDENCE = (DEFECT, INTERRUPTED, USAGE, INVALID, HELD, UNREACHABLE, UNHEALTHY, DIFFERENT)


def first(codes: Iterable[int]) -> int:
    """The one code for several results; 0 when there is nothing to report."""
    reported = set(codes)
    return next((code for code in PRECEDENCE if code in reported), OK)


def of(error: BaseException) -> int:
    """The code for an exception that ended a command."""
    if isinstance(error, BaseExceptionGroup):
        return first(of(inner) for inner in error.exceptions)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, errors.Unforeseen):
        return DEFECT
    if isinstance(error, errors.UsageError):
        return USAGE
    if isinstance(error, errors.InputError):
        return INVALID
    if isinstance(error, errors.GitfedError):
        return UNREACHABLE
    return DEFECT
