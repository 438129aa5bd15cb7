"""How long a test waits for what must come true, before it says that it did not.

Waiting longer costs nothing where all is well, and waiting too briefly makes a verdict about the machine: beside other
work a step takes ten times as long as alone. Every wait of a test for a process, a server, a thread or a state ends
here; none is part of what is asserted. A test that is *about* a time-out names its own seconds.
"""

from __future__ import annotations

SECONDS = 180.0
