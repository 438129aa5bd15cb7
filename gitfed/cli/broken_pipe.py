"""stdout that outlasts its reader: `gitfed validate | head` leaves with the code of the whole work.

A reader that has what it wanted closes the pipe. The command goes on and what it still prints is dropped, so that its
exit code says what the work came to, and `gitfed apply | head` is not an apply that stopped in the middle. What cannot
be written for another reason (a full disk) is an error like others.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def outlasting_its_reader(stream: TextIO) -> TextIO:
    """The same stream; after its reader went away it takes everything and prints nothing."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream  # a test or an embedding program replaced it
    buffer: object = stream.buffer
    raw = buffer if isinstance(buffer, io.FileIO) else getattr(buffer, "raw", None)
    if not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    outlet = _Outlet(raw.fileno(), "wb", closefd=False)
    return io.TextIOWrapper(
        # Python was told not to buffer, and then this has none either.
        cast(BinaryIO, outlet if raw is buffer else io.BufferedWriter(outlet)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


class _Outlet(io.FileIO):
    def write(self, content: ReadableBuffer, /) -> int:
        if not memoryview(content).nbytes:
            return 0  # click finds out in this way what kind of stream it has, and would swallow the error
        try:
            return super().write(content)
        except OSError as error:
            # Another program that writes there (one that shows differences) has no reader either. A full disk is
            # reported once, not again by every buffer that is flushed.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if not isinstance(error, BrokenPipeError):
                raise
            return super().write(content)
