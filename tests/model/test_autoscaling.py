"""What is wrong with a CronFederatedHPA, said at its line."""

from __future__ import annotations

import pytest

from gitfed.model.base import Commit
from gitfed.source import repo as source
from tests.planning.tree import Tree

HEAD = """\
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: hours, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules:
"""
HPA = HEAD.replace("apps/v1, kind: Deployment", "autoscaling.karmada.io/v1alpha1, kind: FederatedHPA")


def problems(text: str) -> list[str]:
    found = source.read(Tree({"gitfed.yaml": SETTINGS, "hours.yaml": text}, Commit("1" * 40))).problems
    return [str(one) for one in found]


SETTINGS = "{apiVersion: gitfed.io/v1alpha1, kind: Federation, metadata: {name: test}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD + "  - {name: a, schedule: '@daily', targetReplicas: 0}", []),
        (
            HEAD + "  - {name: a, schedule: 0 0 30 2 *, targetReplicas: 1}",
            ["hours.yaml:7:15: the schedule names a day that no year has"],
        ),
        (
            HEAD + "  - {name: a, schedule: 0 0 * * 7, timeZone: Europe/Berln, targetReplicas: -1}",
            [
                "hours.yaml:7:15: the schedule has 7 as day of the week, not 0 to 6; Sunday is 0",
                "hours.yaml:7:36: the time zone is Europe/Berln, and there is no such time zone "
                "(did you mean Europe/Berlin?)",
                "hours.yaml:7:60: targetReplicas is -1, it must be at least 0",
            ],
        ),
        (
            HEAD + "  - {name: a, schedule: '@daily', targetMinReplicas: 1}",
            ["hours.yaml:7:5: the rule a needs targetReplicas, to scale a Deployment (only a FederatedHPA has bounds)"],
        ),
        (
            HEAD + 2 * "  - {name: a, schedule: '@daily', targetReplicas: 1}\n",
            ["hours.yaml:8:6: the rule a stands twice (each needs its own name)"],
        ),
        (
            HPA + "  - {name: a, schedule: '@daily', targetMinReplicas: 5, targetMaxReplicas: 2}",
            ["hours.yaml:7:35: targetMinReplicas is 5, more than targetMaxReplicas, which is 2"],
        ),
        (
            HPA + "  - {name: a, schedule: '@daily', targetReplicas: 5}",
            [
                "hours.yaml:7:5: the rule a needs targetMinReplicas or targetMaxReplicas, to scale a FederatedHPA",
                "hours.yaml:7:35: warning: targetReplicas has no effect on a FederatedHPA "
                "(write targetMinReplicas and targetMaxReplicas)",
            ],
        ),
        (
            HPA + "  - {name: a, schedule: '@daily', targetMinReplicas: 0, targetMaxReplicas: 3}",
            ["hours.yaml:7:35: targetMinReplicas is 0, it must be at least 1"],
        ),
        (
            HPA.replace("FederatedHPA, name", "WorkloadHPA, name") + "  - {name: a, schedule: '@daily'}",
            [
                "hours.yaml:5:65: a WorkloadHPA cannot be scaled: of autoscaling.karmada.io only a FederatedHPA can "
                "(name the workload itself)"
            ],
        ),
        (
            HEAD + "  - {name: a, shedule: '@daily', targetReplicas: 1}",
            [
                "hours.yaml:7:5: spec.rules[0].schedule is required",
                "hours.yaml:7:15: unknown field shedule (did you mean schedule?)",
            ],
        ),
        (HEAD.replace("  rules:\n", "  rules: []\n"), ["hours.yaml:6:3: spec.rules must not be empty"]),
    ],
)
def test_what_is_wrong_is_said_at_its_line(text: str, expected: list[str]) -> None:
    assert problems(text) == expected
