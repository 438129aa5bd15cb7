"""The way from this machine into one cluster, for commands that look at it or change it themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitfed.cli import desired, load, options
from gitfed.cli.parameters import Command, Files, gathered, option
from gitfed.errors import CredentialsError
from gitfed.model.keys import CONTEXT
from gitfed.text.values import dataclass

if TYPE_CHECKING:
    from gitfed.edges.kube.connection.session import Session


@dataclass(frozen=True, slots=True)
class KubeconfigContext:
    """The kubeconfig that is named for a cluster, and which of its contexts leads there."""

    kubeconfig: Path | None = None
    """None: the cluster is reached as the daemon reaches it."""
    context: str = ""
    """ "": the one with the cluster's name."""


def way(*, about: str, required: bool = False) -> Callable[[Command], Command]:
    """--cluster-kubeconfig, with this help, and --cluster-context → `way: KubeconfigContext`."""
    both = (
        option(
            "--cluster-kubeconfig",
            shared=False,
            type=Files(exists=True, dir_okay=False),
            metavar="FILE",
            required=required,
            help=about,
        ),
        option(
            "--cluster-context",
            shared=False,
            metavar="NAME",
            default="",
            help="Its context.  [default: the cluster's name]",
        ),
    )
    return lambda command: gathered(command, "way", both, _way)


def _way(values: Mapping[str, Any]) -> KubeconfigContext:
    return KubeconfigContext(values["cluster_kubeconfig"], values["cluster_context"])


def opened(checkout: desired.Checkout, name: str, way: KubeconfigContext, credentials: options.Credentials) -> Session:
    """By the kubeconfig named for it, else as the daemon finds it. Raises CredentialsError."""
    from gitfed.daemon import wiring

    if way.kubeconfig is None:
        declared = checkout.cluster(name)
        made = wiring.DaemonOptions(
            "",
            kubeconfig=load.kubeconfig_paths(credentials),
            credentials_dir=credentials.credentials_dir,
            allow_exec=credentials.allow_exec,
        )
        return wiring.open_sessions(made)(declared)
    return by_kubeconfig(way.kubeconfig, name, way.context, allow_exec=credentials.allow_exec)


def by_kubeconfig(kubeconfig: Path, name: str, context: str, *, allow_exec: bool) -> Session:
    """By a context of this kubeconfig, that with the cluster's name unless one is named. Raises CredentialsError."""
    from gitfed.daemon import wiring
    from gitfed.model.declared.cluster import Cluster

    annotations = {CONTEXT: context} if context else {}
    declared = Cluster.model_validate(
        {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"syncMode": "Push"},
        }
    )
    made = wiring.DaemonOptions("", kubeconfig=(kubeconfig,), allow_exec=allow_exec)
    try:
        return wiring.open_sessions(made)(declared)
    except CredentialsError as error:
        if CONTEXT in error.hint:
            # There is no file yet that could bear the annotation.
            hint = "name the context that leads to this cluster: --cluster-context NAME"
            raise CredentialsError(error.message, cluster=name, hint=hint) from error
        raise
