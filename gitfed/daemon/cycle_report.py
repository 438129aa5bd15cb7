"""What one cycle of the loop did, and the keys of the line that the log gets of it."""

from __future__ import annotations

from gitfed.model.plan import Plan
from gitfed.text.values import dataclass


@dataclass(slots=True)
class CycleReport:
    """What one cycle found and did; what has become of it is in `Engine.results`."""

    plan: Plan
    handed_over: int
    recorded: bool
    took: float
    """seconds"""

    def keys(self, **spans: float) -> dict[str, object]:
        """What the log says of it."""
        totals = self.plan.totals
        return {
            "commit": self.plan.commit[:12],
            **{name: getattr(totals, name) for name in ("create", "update", "move", "delete", "skip")},
            "held": sum(gate.held for gate in self.plan.gates),
            "problems": len(self.plan.problems),
            "took": round(self.took, 3),
            **{name: round(seconds, 3) for name, seconds in spans.items()},
        }
