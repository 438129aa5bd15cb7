"""Writes docs/reference/settings.md: every field of Federation with its type, its default and what it does.

    python tools/settings_reference.py          write the page
    python tools/settings_reference.py --check  exit with 1 if it is not up to date

Names, types and defaults come from the model, so they cannot go stale. What a field *does* is a sentence here; a field
without one, or a sentence without a field, is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from model_fields import default_text, type_text
from pydantic import BaseModel

from gitfed.model.declared.federation import FEATURE_GATES, FederationSpec

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"

NOT_YET = "*Accepted, not acted on yet.* "
MEANING = {
    "sources.include": "Globs of the files that are read. `**` matches any depth. "
    "A name that begins with a dot is matched only by a pattern that writes the dot: `.k8s/**`.",
    "sources.exclude": "Globs of files that are left out, even if `include` matches.",
    "sources.verify.commits": "Which commits must be signed to be applied: `head` the newest, `all` every one "
    "since the last applied. Read from the last applied commit.",
    "sources.verify.keys": "Who may sign: paths of public keys in this repository (PGP blocks, SSH's `.pub`), SSH "
    "public keys, or fingerprints.",
    "sync.interval": "Pause between two polls of a remote repository, ±10 %; ten times as long "
    "while a [forge webhook](../how-to/forge-webhooks.md) tells of pushes. A local repository is watched.",
    "sync.prune": "Delete objects whose template is gone. With `false` they are kept and reported.",
    "sync.selfHeal": "Put back what somebody else changed. With `false` the plan shows it as skipped.",
    "sync.onInvalidFile": "`hold`: the objects of a file with errors stay at its last good version. "
    "`reject`: the whole commit waits.",
    "sync.healthTimeout": "How long a copy may be unhealthy before the log says so (`binding not healthy in time`). "
    "What waits for it goes on waiting; `gitfed apply --wait --timeout` bounds the wait of one apply.",
    "guards.maxDeletions": "More deletions than this in one plan are held, those of copies that nothing replaces "
    "included.",
    "guards.maxDeletionPercent": "The same, in percent of what is owned. Ignored below 8 objects.",
    "guards.maxMovedReplicasPercent": "Moving or losing more than this share of all replicas is held. "
    "Ignored below 8 replicas.",
    "guards.maxClustersTouched": "A plan that touches more clusters than this is held. Unset: no limit.",
    "guards.approvers": "Who may open a gate with a signed commit whose last lines say "
    "`Gitfed-Allow: <gate>=<number>`: as `sources.verify.keys`. Read from the last applied commit.",
    "guards.operators": "Who may give orders on the state branch (`gitfed suspend`) where `sources.verify` asks for "
    "signatures: as `sources.verify.keys`, which count if nobody is named. Read from the last accepted commit.",
    "failover.enabled": "Whether work leaves clusters that fail, or copies that stay unhealthy.",
    "failover.evictionTimeout": "A cluster that is not ready for this long gets the taint NoExecute. With purgeMode "
    "Directly also how long the deletion of the old copy may take to be confirmed.",
    "failover.notReadyTolerationSeconds": "How long work puts up with that taint if its policy does not say: cluster "
    "not ready.",
    "failover.unreachableTolerationSeconds": "The same for a cluster that does not answer.",
    "failover.gracefulEvictionTimeout": "An old copy waits this long at most for its replacement to be healthy.",
    "failover.maxEvictionsPerMinute": "So many workloads leave failing clusters in one minute; others wait for their "
    "turn. Those whose new copy is healthy do not count any more.",
    "failover.maxUnreachablePercent": "Above this share of clusters lost at once, nothing is evicted from them: we are "
    "probably cut off.",
    "failover.startWithoutConfirmation": "purgeMode Directly: whether the new copy starts although the deletion of the "
    "old one could not be confirmed. With `false` it waits, loudly.",
    "namespaces.autoPropagate": "A Namespace in the repository goes to every cluster.",
    "namespaces.skip": "Patterns of namespaces whose objects are never propagated. They match the whole name.",
    "scheduling.emptyWorkloadPropagation": "Send a divided workload of zero replicas to every cluster that fits.",
    "scheduling.descheduleInterval": "Pause between two looks for replicas that found no node: those of "
    "Deployments that are divided by room are taken back and placed where there is room.",
    "scheduling.unschedulableThreshold": "How long a pod may wait for a node before it counts.",
    "state.branch": "Branch of the decisions. Read at start.",
    "state.writers": "Keys of other gitfeds whose decisions and facts count where `sources.verify` asks for "
    "signatures: lines that `gitfed state key` prints, as `sources.verify.keys`. One's own key always counts. "
    "Read from the last accepted commit.",
    "state.factsBranch": "Branch of what was observed of the clusters. Read at start.",
    "state.url": "Repository that state and facts are pushed to. Unset: the source. Read at start.",
    "state.push": "Push state and facts. With `false` they stay in the daemon's clone. Read at start.",
    "state.waitForPush": "How long a new decision waits at most for its record to be pushed before it is carried out. "
    "After that the record in the daemon's clone is enough. Nothing else waits. `0s`: never wait.",
    "render.branch": NOT_YET + "Branch with one folder of rendered manifests per cluster.",
    "featureGates": "Karmada's feature gates by name. Acted on are `CustomizedClusterResourceModeling`, "
    "`Failover`, `FederatedQuotaEnforcement`, `GracefulEviction`, `MultiClusterService`, "
    "`MultiplePodTemplatesScheduling`, "
    "`PriorityBasedScheduling`, `ResourceQuotaEstimate`, `StatefulFailoverInjection` and `WorkloadAffinity`; "
    "the others are accepted. "
    "An unknown name is an error.",
}
_HEAD = """\
# Settings

One `Federation` per repository holds the settings. It usually stands in `gitfed.yaml`, but any file will do. Only
`metadata.name` is required: at most 40 lowercase letters, digits and dashes. The name is the value of the ownership
label and a part of the inventory's name, so choose it once.

```yaml
apiVersion: gitfed.io/v1alpha1
kind: Federation
metadata:
  name: acme
spec:
  sync:
    interval: 30s
```

`gitfed config view --origin` prints every setting that is in force, with the file and line it comes from. Durations
are Kubernetes' (`90s`, `10m`, `1h30m`). An unknown field is an error with a suggestion. *This page is made from the
model by `tools/settings_reference.py`.*
"""


def fields(model: type[BaseModel] = FederationSpec, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """(path below spec, type, default) of every leaf."""
    for name, field in model.model_fields.items():
        path = prefix + (field.alias or name)
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from fields(inner, f"{path}.")
        else:
            yield path, type_text(inner), default_text(field.get_default(call_default_factory=True))


def page() -> str:
    """The whole page. Raises SystemExit when fields and sentences do not fit together."""
    found = list(fields())
    names = {path for path, _, _ in found}
    if names != MEANING.keys():
        raise SystemExit(f"fields and sentences differ: {sorted(names ^ MEANING.keys())}")
    lines = [_HEAD]
    section = ""
    for path, kind, default in found:
        first = path.partition(".")[0]
        if first != section:
            section = first
            lines += [f"\n## `spec.{section}`\n", "| Field | Type | Default | What it does |", "|---|---|---|---|"]
        lines.append(f"| `{path}` | {kind} | {default} | {MEANING[path]} |")
    on = " ".join(f"`{name}`" for name, default in FEATURE_GATES.items() if default)
    off = " ".join(f"`{name}`" for name, default in FEATURE_GATES.items() if not default)
    lines += ["", f"Known gates, on by default: {on}.", "", f"Off by default: {off}."]
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    text = page()
    if "--check" in arguments:
        return 0 if PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
