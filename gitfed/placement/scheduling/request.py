"""What is asked of the scheduler for one template."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING

from gitfed.model.base import Body
from gitfed.model.decisions import Share
from gitfed.placement.capacity.allowance import ANYWHERE, Space
from gitfed.placement.scheduling.strategy import Form
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.model.declared.policy import Placement


class NotAsked(Enum):
    """Stands for requirements that were not asked for: replicas cannot be divided by available capacity then."""

    NOT_ASKED = "not asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequest:
    """One template to place.

    `uid` breaks ties: the template's `metadata.uid` if its file has one, else the binding id. `fresh` is an explicit
    reschedule: the ordered affinity groups are tried from the first again.
    """

    placement: Placement
    api_version: str
    kind: str
    replicas: int = 0
    is_workload: bool = False
    """replicas > 0, or the pod template asks for resources or nodes, or there are components."""
    requirements: Body | NotAsked | None = NotAsked.NOT_ASKED
    """What one replica needs (Karmada's ReplicaRequirements); None: nothing but a pod slot."""
    space: Space = ANYWHERE
    """Namespace and priority class: what ResourceQuotas inside a cluster go by."""
    components: tuple[Body, ...] = ()
    """Several pod templates: then there are no replicas, and every chosen cluster gets all of it."""
    previous: tuple[Share, ...] = ()
    evicting: frozenset[str] = frozenset()
    beside: frozenset[str] | None = None
    """Clusters that all others of its workload affinity group use; None: no others, or no group."""
    away_from: frozenset[str] = frozenset()
    """Clusters that another of its anti-affinity group uses."""
    observed_affinity: str = ""
    uid: str = ""
    fresh: bool = False
    empty_propagation: bool = False
    """Setting `scheduling.emptyWorkloadPropagation`: chosen clusters without replicas get the object too."""
    form: Form | None = None
    """What the placement amounts to, where the caller has it already."""
    needs_room: bool = field(init=False)
    """Whether the outcome depends on the available capacity of the clusters."""

    def __post_init__(self) -> None:
        form = self.form or Form.of(self.placement)
        object.__setattr__(self, "form", form)
        by_room = form.spreads or (form.by_room and not self.components)
        object.__setattr__(self, "needs_room", self.is_workload and by_room)

    @property
    def how(self) -> Form:
        assert self.form is not None
        return self.form

    @property
    def counts_sets(self) -> bool:
        """Available capacity is a number of complete sets of components, and one set is wanted."""
        return bool(self.components) and self.how.places_sets
