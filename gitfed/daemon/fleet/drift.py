"""What is made of every object that a cluster shows: is it as rendered, is it healthy, is its body worth keeping?

Asked for each event of each cluster, so it is quick: one comparison, two native rules. What a script from outside says
of an object is asked beside the loop (`statuses`) and handed in with `judge`; until then it is unknown.

It follows the newest plan. Whose the object is, and whether it is news, is not decided here but in
`edges.kube.object_cache`; what has to be done about it by the next plan.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from gitfed.edges.kube.observe import Assessment
from gitfed.interpret import collect, readiness
from gitfed.interpret.registry import Interpreter
from gitfed.model.base import Body, ClusterName, ObjectKey
from gitfed.model.fleet import Health
from gitfed.model.keys import PRUNE_ANNOTATION
from gitfed.model.plan import RenderedManifest
from gitfed.planning.objects import compare, field_conflicts, prune, retain

Rendered: TypeAlias = Mapping[ObjectKey, tuple[RenderedManifest, ...]]


class Assessor:
    """The newest plan, as far as it says what objects should be."""

    def __init__(self) -> None:
        self.interpreter = Interpreter(())
        """The rules that the plan was made with."""
        self._planned = False
        self._classes: dict[ClusterName, dict[ObjectKey, RenderedManifest]] = {}
        self._classes_of: dict[ObjectKey, tuple[RenderedManifest, ...]] = {}
        self._stateful: set[ObjectKey] = set()
        """Objects whose every change of status counts: bodies are kept, which is what makes it known."""
        self._verdicts: dict[tuple[ClusterName, ObjectKey], tuple[object, collect.Collected]] = {}
        """What scripts said of copies, and of which generation."""

    def in_clusters(self, names: Collection[ClusterName]) -> dict[ClusterName, Mapping[ObjectKey, RenderedManifest]]:
        """What should be in each of these, until the next plan."""
        return {name: self._classes.get(name, {}) for name in names}

    @property
    def stateful(self) -> Collection[ObjectKey]:
        return self._stateful

    @property
    def places(self) -> list[tuple[ObjectKey, ClusterName]]:
        """What should be, and where."""
        return [(key, cluster) for cluster, wanted in self._classes.items() for key in wanted]

    def wants(self, cluster: ClusterName, key: ObjectKey) -> bool:
        """Whether that object should be there."""
        return key in self._classes.get(cluster, ())

    def assess(self, cluster: ClusterName, key: ObjectKey, body: Body) -> Assessment:
        assessment = self._assess(cluster, key, body)
        held = assessment.health is Health.TERMINATING and readiness.is_held(body)
        return replace(assessment, deletion_held=True) if held else assessment

    def _assess(self, cluster: ClusterName, key: ObjectKey, body: Body) -> Assessment:
        health, message = self._health(cluster, key, body)
        protected = compare.annotation(body, PRUNE_ANNOTATION) == "disabled"
        deletion_protected = prune.is_protected(body)
        wanted = self._classes.get(cluster, {}).get(key)
        # With other managers that apply, what a new version may write depends on what they declare: also of a copy that
        # is not placed there now, an orphan say, which the next commit takes up again.
        shared = field_conflicts.others_apply(body)
        if wanted is None:
            return Assessment(None, health, message, shared or not self._planned, protected, deletion_protected)
        # A script may take seconds, which belong to a build and not to the loop that hears of every event.
        scripted = collect.is_scripted(body, self.interpreter)
        healthy, status = (None, None) if scripted else collect.collect(self.interpreter, body)[:2]
        if retain.has_rule(body, self.interpreter):
            return Assessment(None, health, message, True, protected, deletion_protected, healthy, status)
        same = not compare.compare_bodies(wanted.body, body, self.interpreter)
        keep = scripted or not same or key in self._stateful or shared
        matches = wanted.digest if same else None
        return Assessment(matches, health, message, keep, protected, deletion_protected, healthy, status)

    def _health(self, cluster: ClusterName, key: ObjectKey, body: Body) -> tuple[Health, str]:
        """How far it has come; where a script has a say, that too, as soon as it was asked about this generation."""
        health, message = readiness.readiness(body)
        if health is not Health.CURRENT or not collect.has_health_script(body, self.interpreter):
            return health, message
        verdict = self._verdicts.get((cluster, key))
        if verdict is None or verdict[0] != _generation(body):
            return Health.IN_PROGRESS, "the rule of its kind was not asked yet"
        return collect.judged(verdict[1])

    def judge(self, cluster: ClusterName, key: ObjectKey, body: Body, collected: collect.Collected) -> bool:
        """What the script of its kind said of a copy; whether that is news."""
        verdict = (_generation(body), collected)
        before = self._verdicts.get((cluster, key))
        if before is not None and before[0] == verdict[0] and collect.judged(before[1]) == collect.judged(collected):
            return False
        self._verdicts[cluster, key] = verdict
        return True

    def follow(self, rendered: Rendered, stateful: Collection[ObjectKey], interpreter: Interpreter) -> list[ObjectKey]:
        """Compare with what a plan renders from now on, by the rules it was made with; the objects to be judged anew.

        `stateful`: objects whose every change of status counts.
        """
        if interpreter is not self.interpreter:
            self._verdicts.clear()
        self.interpreter = interpreter
        changed: list[ObjectKey] = []
        for key, classes in rendered.items():
            before = self._classes_of.get(key)
            if before is classes:
                continue
            if before is not None and _is_same(before, classes):
                # A decision that a gate holds is taken anew in every build: judging its copies anew each time would
                # bring the next build about, and so on.
                self._classes_of[key] = classes
                continue
            changed.append(key)
            self._forget(key)
            for rendered_class in classes:
                for cluster in rendered_class.clusters:
                    self._classes.setdefault(cluster, {})[key] = rendered_class
            self._classes_of[key] = classes
        for key in self._classes_of.keys() - rendered.keys():
            self._forget(key)
            del self._classes_of[key]
        self._planned = True
        changed += set(stateful) - self._stateful
        self._stateful = set(stateful)
        return changed

    def _forget(self, key: ObjectKey) -> None:
        for rendered in self._classes_of.get(key, ()):
            for cluster in rendered.clusters:
                self._classes[cluster].pop(key, None)
                self._verdicts.pop((cluster, key), None)


def _is_same(before: Sequence[RenderedManifest], after: Sequence[RenderedManifest]) -> bool:
    """Whether the same is wanted in the same clusters."""
    return [(manifest.digest, manifest.clusters) for manifest in before] == [
        (manifest.digest, manifest.clusters) for manifest in after
    ]


def _generation(body: Body) -> object:
    metadata = body["metadata"]
    return metadata.get("uid"), metadata.get("generation")
