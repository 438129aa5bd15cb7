"""gitfed taint"""

from __future__ import annotations

import re
from typing import Any

import click

from gitfed.cli import complete, desired, parameters
from gitfed.cli.commands.clusters import cordon
from gitfed.cli.output import plain
from gitfed.errors import UsageError
from gitfed.model.declared import names
from gitfed.model.declared.cluster import Cluster
from gitfed.text.values import dataclass

_EFFECTS = ("NoSchedule", "NoExecute")
_SPEC = re.compile(r"(?P<key>[^=:]+?)(=(?P<value>[^:]*))?(:(?P<effect>[A-Za-z]+))?(?P<off>-)?")


@dataclass(frozen=True, slots=True)
class _Wish:
    """One taint of the command line. `effect` "": of any effect, for taking away."""

    key: str
    value: str
    effect: str
    off: bool

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}" + (f":{self.effect}" if self.effect else "")

    def meets(self, key: str, effect: str) -> bool:
        return key == self.key and self.effect in ("", effect)


@click.command("taint")
@click.argument(
    "words", metavar="[clusters] CLUSTER... TAINT...", nargs=-1, required=True, shell_complete=complete.clusters
)
@parameters.option("--overwrite", shared=False, is_flag=True, help="Change the value of a taint that is there.")
@desired.writing
def command(words: tuple[str, ...], overwrite: bool, writing: desired.WriteOptions) -> int:
    """Put taints on clusters, or take them away.

    A taint is KEY=VALUE:EFFECT or KEY:EFFECT; with a dash at the end (KEY:EFFECT-, KEY-) it is taken away. NoSchedule
    lets no new work in, NoExecute also moves away what does not tolerate it. Clusters come first, then taints. The
    clusters' files are written; they count once they are pushed.

    \b
    gitfed taint eu-1 eu-2 maintenance=disks:NoSchedule
    gitfed taint clusters eu-1 maintenance-

    \b
    Exit codes: 0 done · 2 bad usage, no such cluster or taint · 4 no checkout.
    """
    clusters, wishes = _parsed(words)
    checkout = desired.open_checkout(writing.repo)
    declared = {name: checkout.cluster(name) for name in clusters}
    lines = []
    for name, cluster in declared.items():
        word = _check(name, cluster, wishes, overwrite)
        checkout.edit_cluster(name, lambda document: _change(document, wishes))
        lines.append(f"cluster/{plain.clean(name)} {word}{' (dry run)' if writing.dry_run else ''}")
    what = " ".join(f"{wish}{'-' if wish.off else ''}" for wish in wishes)
    desired.finish(checkout, f"Taint {', '.join(clusters)}: {what}", writing)
    for line in lines:
        click.echo(line, err=bool(writing.dry_run))
    return 0


def _parsed(words: tuple[str, ...]) -> tuple[list[str], list[_Wish]]:
    rest = list(words[1:] if words[0] in ("cluster", "clusters") else words)
    clusters = []
    while rest and not ("=" in rest[0] or ":" in rest[0] or rest[0].endswith("-")):
        clusters.append(complete.CLUSTER(rest.pop(0)))
    if not clusters:
        raise UsageError("which clusters?", hint="gitfed taint CLUSTER... TAINT...")
    if not rest:
        raise UsageError("which taints?", hint="KEY=VALUE:EFFECT, KEY:EFFECT, or with a dash: KEY-")
    wishes = [_wish(word) for word in rest]
    for wish in wishes:
        for other in wishes:
            if wish.off and not other.off and wish.meets(other.key, other.effect):
                raise UsageError(f"taint {other} cannot be put on and taken away at once")
    on = [(wish.key, wish.effect) for wish in wishes if not wish.off]
    for pair in on:
        if on.count(pair) > 1:
            raise UsageError(f"taint {pair[0]}:{pair[1]} is given twice")
    return list(dict.fromkeys(clusters)), wishes


def _wish(word: str) -> _Wish:
    match = _SPEC.fullmatch(word)
    if match is None:
        raise UsageError(f"{word!r} is no taint", hint="KEY=VALUE:EFFECT or KEY:EFFECT; clusters come first")
    wish = _Wish(match["key"], match["value"] or "", match["effect"] or "", bool(match["off"]))
    if why := names.why_not_label_key(wish.key):
        raise UsageError(f"{word!r}: the key {wish.key} {why}")
    if why := names.why_not_label_value(wish.value):
        raise UsageError(f"{word!r}: the value {wish.value} {why}")
    if wish.effect not in (*_EFFECTS, "") or not (wish.effect or wish.off):
        hint = "Karmada knows NoSchedule and NoExecute for clusters"
        raise UsageError(f"{word!r}: {f'unknown effect {wish.effect}' if wish.effect else 'no effect'}", hint=hint)
    return wish


def _check(name: str, cluster: Cluster, wishes: list[_Wish], overwrite: bool) -> str:
    """What will have been done to the cluster, as kubectl says it. Raises UsageError."""
    present = {(taint.key, taint.effect): taint.value for taint in cluster.spec.taints}
    for wish in wishes:
        if wish.off and not any(wish.meets(*pair) for pair in present):
            raise UsageError(f"cluster {name}: taint {wish} not found")
        if not wish.off and (wish.key, wish.effect) in present and not overwrite:
            taint = f"{wish.key}:{wish.effect}"
            raise UsageError(f"cluster {name} has a taint {taint} already", hint="--overwrite changes its value")
    added = any(not wish.off for wish in wishes)
    removed = any(wish.off for wish in wishes)
    replaced = any(not wish.off and (wish.key, wish.effect) in present for wish in wishes)
    if (added and removed) or replaced:
        return "modified"
    return "tainted" if added else "untainted"


def _change(document: Any, wishes: list[_Wish]) -> None:
    for wish in wishes:
        listed = document["spec"].setdefault("taints", [])
        if wish.off:
            cordon.drop_taints(document, wish.meets)
            continue
        # Karmada: a NoExecute taint counts from when it was put on.
        since = {"timeAdded": desired.now()} if wish.effect == "NoExecute" else {}
        new = {"key": wish.key, **({"value": wish.value} if wish.value else {}), "effect": wish.effect, **since}
        for position, taint in enumerate(listed):
            if (taint.get("key"), taint.get("effect")) == (wish.key, wish.effect):
                listed[position] = new
                break
        else:
            listed.append(new)
