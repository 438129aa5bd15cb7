"""Runs the Lua scripts of resource interpreters, so that none of them can do harm.

    Lua ──► Worker        a process that is killed when it hangs            (`worker`, `process`, `pipe`)
              └─► Runtime in it: limits on instructions and memory          (`child`, `runtime`, `sandbox/`)

Nothing of a script is compiled or run in this process: Lua ends the process that runs it when memory is short at the
wrong moment, and many of its functions cannot be interrupted.

A script that is wrong gives `Failed(permanent=True)`: it raises, returns what JSON cannot hold, or needs more
instructions or memory than a script may; the same everywhere. One that had to be killed gives `permanent=False`,
because how long something takes depends on the machine: nothing is known then, and the last decision stays.

Answers are remembered, by identity of the arguments and by their content. What the answers mean is not known here
(`interpret.scripted`), nor what the functions of the `kube` module do: they are passed in.
"""

from gitfed.edges.lua.lua import Lua
from gitfed.edges.lua.request import ScriptError

__all__ = ["Lua", "ScriptError"]
