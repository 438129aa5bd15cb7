"""gitfed init"""

from __future__ import annotations

import re
from pathlib import Path

import click

from gitfed.cli import parameters
from gitfed.cli.output import plain
from gitfed.errors import UsageError

_FILES = {
    "gitfed.yaml": """\
# Settings of this repository. Every field but the name has a default: gitfed config view shows them.
apiVersion: gitfed.io/v1alpha1
kind: Federation
metadata:
  name: {name}
# Apply only what people of yours have signed: commit their public keys, and take away the # of these lines. From then
# on orders such as gitfed approve count if one of them signed, and what strangers write on the state branch does not.
# spec:
#   sources:
#     verify:
#       commits: all
#       keys: [keys/ada.pub]
""",
    "clusters/east.yaml": """\
# A cluster. How to reach it: the kubeconfig context of the same name (--kubeconfig, KUBECONFIG).
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: east
  labels:
    stage: production
spec:
  syncMode: Push
  region: east
""",
    "clusters/west.yaml": """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: west
  labels:
    stage: production
spec:
  syncMode: Push
  region: west
""",
    "policies/hello.yaml": """\
# Where the objects of namespace hello go: two parts to east, one to west.
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: hello
  namespace: hello
spec:
  resourceSelectors:
    - apiVersion: apps/v1
      kind: Deployment
      name: hello
    - apiVersion: v1
      kind: Service
      name: hello
  placement:
    clusterAffinity:
      clusterNames: [east, west]
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
          - targetCluster:
              clusterNames: [east]
            weight: 2
          - targetCluster:
              clusterNames: [west]
            weight: 1
""",
    "apps/hello/namespace.yaml": """\
apiVersion: v1
kind: Namespace
metadata:
  name: hello
""",
    "apps/hello/hello.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: hello
  namespace: hello
spec:
  replicas: 3
  selector:
    matchLabels:
      app: hello
  template:
    metadata:
      labels:
        app: hello
    spec:
      containers:
        - name: hello
          image: registry.k8s.io/pause:3.10
---
apiVersion: v1
kind: Service
metadata:
  name: hello
  namespace: hello
spec:
  selector:
    app: hello
  ports:
    - port: 80
""",
    "README.md": """\
# {name}

This repository says what runs in a fleet of Kubernetes clusters. gitfed keeps the clusters equal to it.

| Folder | Holds |
|---|---|
| `clusters/` | one file for each cluster |
| `policies/` | which objects go to which clusters |
| `apps/` | plain Kubernetes manifests |

    gitfed validate --worktree     what is wrong with it
    gitfed plan --worktree         which cluster gets what, and why
    gitfed diff                    what a branch would change
    gitfed run --repo .            keep the clusters equal to it
""",
}
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=parameters.Files(file_okay=False))
@parameters.option(
    "--name",
    shared=False,
    metavar="NAME",
    default="",
    help="Name of the federation: it labels every object that gitfed applies.  [default: the folder's name]",
)
@parameters.option("--bare-bones", shared=False, is_flag=True, help="Only gitfed.yaml, without an example.")
@parameters.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def command(folder: Path, name: str, bare_bones: bool, quiet: bool) -> int:
    """Make a fleet repository in DIR (default: here): settings, two clusters, a policy and a small application.

    DIR becomes a Git repository of its own, also inside another one: gitfed reads whole repositories. Nothing is
    committed and no file is overwritten.

    \b
    gitfed init fleet && cd fleet
    gitfed validate
    git add . && git commit -m "A fleet"

    \b
    Exit codes: 0 done · 2 bad usage, or a file is in the way · 4 no repository can be made.
    """
    # Imported here: making a few files should not wait for what reads repositories.
    from gitfed.edges import git
    from gitfed.errors import SourceError

    git.forget_hook_environment()
    target = folder.resolve()
    name = name or _name_of(target)
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a federation", hint="lower-case letters, digits and dashes, up to 40"
        )
    files = {path: text for path, text in _FILES.items() if not bare_bones or path == "gitfed.yaml"}
    in_the_way = [path for path in files if (target / path).exists() and path != "README.md"]
    if in_the_way:
        raise UsageError(f"{target / in_the_way[0]} exists already", hint="init overwrites nothing")
    target.mkdir(parents=True, exist_ok=True)
    try:
        outer = git.find_root(target)
    except SourceError:
        outer = None
    made = outer is None or outer.resolve() != target
    if made:
        # Also inside another repository (a checkout of gitfed's, say): else everything that lies there would be read
        # as a part of this fleet, and a first `apply` would carry it out.
        git.Repository.create(target, bare=False)
    written = []
    for path, text in files.items():
        if (target / path).exists():
            continue
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text.replace("{name}", name), encoding="utf-8")
        written.append(path)
    if not quiet:
        if made:
            click.echo(f"made the repository {plain.clean(str(target))}")
            if outer is not None:
                click.echo(f"note: it is not a part of the repository {plain.clean(str(outer))} around it", err=True)
        for path in written:
            click.echo(f"wrote {path}")
        click.echo("\nNext: gitfed validate --worktree, then git add . && git commit")
    return 0


def _name_of(folder: Path) -> str:
    """A name made of the folder's."""
    return re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")[:40].strip("-") or "fleet"
