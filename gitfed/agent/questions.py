"""What the hub asks an agent, or tells it at once: to look, to hold, to try again. None of it is remembered."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gitfed import errors
from gitfed.agent_protocol import values
from gitfed.daemon.fleet.member import Member
from gitfed.model.base import ObjectKey

LOOK_ANEW = "look-anew"
_LONGEST_HOLD = 60.0


async def answer(member: Member | None, what: str, about: Any) -> Any:
    """Raises LinkError."""
    if member is None:
        raise errors.LinkError("nothing is known yet")
    worker = member.worker
    if what == "look":
        await member.view.look_at(_keys(about))
    elif what == LOOK_ANEW:
        await member.look_anew(_keys(about))
    elif what == "stuck":
        stuck = await member.workloads.stuck(datetime.fromisoformat(str(about)))
        return values.STUCK.json([(key, count, workload) for key, (count, workload) in stuck.items()])
    elif what == "load":
        return values.LOADS.json(list((await member.workloads.load(values.LOAD_QUESTIONS.read(about))).items()))
    elif what in ("hold", "release", "retry"):
        if worker is not None and what == "hold":
            worker.hold(min(float(about), _LONGEST_HOLD))
        elif worker is not None and what == "release":
            worker.release()
        elif worker is not None:
            worker.retry(None if about is None else _keys(about))
    else:
        raise errors.LinkError(f"this agent does not know {what}")
    return None


def _keys(about: Any) -> list[ObjectKey]:
    if not isinstance(about, list):
        raise errors.LinkError("a question about no objects")
    return [ObjectKey(*map(str, parts)) for parts in about if isinstance(parts, list) and len(parts) == 4]
